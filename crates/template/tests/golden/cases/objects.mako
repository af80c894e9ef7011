${this.attrib['InstID']} ${this.cc_set.attrib['SetName']} ${this.cc_host.attrib.get('bk_cloud_id')} ${this['attrib']['InstID']} ${sorted(this)}
% for k, v in sorted(this.cc_set.attrib.items()):
${k}=${v}
% endfor
