-- ${ModuleName}
<%
    groups = {}
    for i, h in enumerate(hosts):
        key = 'even' if i % 2 == 0 else 'odd'
        groups.setdefault(key, []).append(h['ip'])
%>\
local cfg = {
% for key in sorted(groups):
    ${key} = { ${', '.join("'" + ip + "'" for ip in groups[key])} },
% endfor
    rate = ${'%g' % flags['xp_rate']},
    inst = ${this.attrib['InstID']},
}
return cfg
