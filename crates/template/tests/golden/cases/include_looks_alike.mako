 # Ginclude "part"
# Ginclude part
# Ginclude "part" more
## Ginclude "part"
x # Ginclude "part"
