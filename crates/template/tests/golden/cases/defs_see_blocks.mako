<%def name="show()">[${x} ${port}]</%def><% x = 1 %>${show()}<% x = 2 %>${show()}
<%def name="twice()">${show()}${show()}</%def>${twice()}
