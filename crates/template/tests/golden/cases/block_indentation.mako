text
    <%
        # comment first
        if port:
            x = [
      1,
   2]

            y = 'a' \
          'b'
    %>
${x} ${y}
<%	z = 1
%>${z}
