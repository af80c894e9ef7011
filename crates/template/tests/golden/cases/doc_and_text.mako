<%doc>
nothing ${of} this
% if x
</%doc>a<%text>${not} evaluated
% if x
## kept
\
</%text>bc
