% for n in names:
% if n == 'alpha':
<% continue %>
% endif
% if n == 'delta':
<% break %>
% endif
${loop.index} ${n}
% else:
never
% endfor
% for n in []:
x
% else:
none
% endfor
