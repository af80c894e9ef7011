% for i, (a, b, c) in enumerate(matrix):
${i}: ${a} ${b} ${c}
% endfor
% for [k, v] in sorted(limits.items()):
${k}=${v}
% endfor
% for k, in [(1,), (2,)]:
${k}
% endfor
