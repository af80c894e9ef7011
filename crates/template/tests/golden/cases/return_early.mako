before
% if port:
<% return %>
% endif
after
