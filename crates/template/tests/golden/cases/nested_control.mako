% if port:
  % for h in hosts:
    % if h['port'] > 1000:
      % if 'weight' in h:
${h['ip']} heavy
      % else:
light
      % endif
    % else:
${h['ip']} low
    % endif
  % endfor
% endif
