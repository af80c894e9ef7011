% if not nothing:
1
% endif
% if empty or nothing or [] or {} or 0 or 0.0:
no
% elif hosts and port:
2
% endif
% if nothing is None and port is not None:
3
% endif
% if 'a' not in names:
4
% endif
% if port == 1:
% else:
5
% endif
% if 7000 < port <= 8000 != 9:
6
% endif
% if port == 8000: # comment
7
% endif
% if \
  port \
  > 1:
8
% endif
