one ${port}
% if port:
two
% endif
## comment
three \
four
<%
    x = 1
    y = 2
%>
${x + y}
