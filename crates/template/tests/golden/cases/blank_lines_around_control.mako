a

% if port:

b

% endif

c
