<%def name="table(rows)">
% for row in rows:
${' '.join(str(c) for c in row)} ${loop.index}
% endfor
</%def>\
${table(matrix)}
