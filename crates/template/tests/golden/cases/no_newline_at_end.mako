a
% if port:
b
% endif