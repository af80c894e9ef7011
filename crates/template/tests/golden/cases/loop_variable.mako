% for n in names:
${loop.index} ${loop.first} ${loop.last} ${loop.even} ${loop.odd} ${loop.reverse_index} ${loop.cycle('a', 'b', 'c')} ${n}
% endfor
