one \
two \
three
\
four \x \\
five
${port}\
six
