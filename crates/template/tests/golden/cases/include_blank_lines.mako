before
# Ginclude 'part_open'


after
#Ginclude "part"
