servers:
% for h in hosts:
  - host: ${h['ip']}
    port: ${h['port']}
    % if 'weight' in h:
    weight: ${h['weight']}
    % endif
% endfor
zones: ${list(zones.keys())}
empty: ${[z for z, ips in zones.items() if not ips]}
