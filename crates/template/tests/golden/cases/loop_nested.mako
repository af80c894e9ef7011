% for row in matrix:
% for cell in row:
${loop.parent.index},${loop.index}=${cell}${'' if loop.last else ';'}\
% endfor
 row ${loop.index} ${loop.parent is None}
% endfor
