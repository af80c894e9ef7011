% for n in range(0, 60, 15):
${n} */2 * * * ${WorkPath}/bin/tick.sh ${'%02d' % n}
% endfor
