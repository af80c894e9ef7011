a
% for n in names:
${n}
% endfor