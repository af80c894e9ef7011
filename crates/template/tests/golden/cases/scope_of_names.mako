% for x in [1, 2]:
<% y = x * 10 %>${x}${y}
% endfor
${x} ${y} ${[port for port in [1, 2]]} ${port}
