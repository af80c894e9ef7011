<ClusterLayout>
    <LayoutHash/>
    <DeployGroup WorkPath="${WorkPath}/">
<% inst = 0 %>\
% for zone in sorted(zones):
% for ip in zones[zone]:
<% inst += 1 %>\
        <Deploy Group="${zone}" Host="${ip}" InstID="${inst}" Addr="${'.'.join(ip.split('.')[:2])}.${inst}.${InstID}"/>
% endfor
% endfor
    </DeployGroup>
</ClusterLayout>
