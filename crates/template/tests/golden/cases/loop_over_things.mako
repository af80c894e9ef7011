% for c in SetName:
${c}.\
% endfor

% for k in limits:
${k} \
% endfor

% for i in range(5, -1, -2):
${i} \
% endfor

% for a, b in zip(names, range(10)):
${a}${b} \
% endfor

% for x in reversed(names):
${x} \
% endfor

% for x in map(str.upper, names):
${x} \
% endfor
