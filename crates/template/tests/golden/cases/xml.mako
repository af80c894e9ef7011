<?xml version="1.0" encoding="UTF-8"?>
<Config set="${SetName}" env="${SetEnviType}">
% for zone, ips in zones.items():
  <Zone name="${zone}" count="${len(ips)}">
    % for ip in ips:
    <Server id="${loop.index + 1}" ip="${ip}" last="${'true' if loop.last else 'false'}"/>
    % else:
    <!-- end of ${zone} -->
    % endfor
  </Zone>
% endfor
  <Password>${global_variables['db_pass'] | x}</Password>
  <Html>${global_variables['db_pass'] | h}</Html>
</Config>
