<% x = 1 %><% y = x + 1 %>${x}${y}
% for n in names:
<% length = len(n) %>${n}:${length}
% endfor
${length}
