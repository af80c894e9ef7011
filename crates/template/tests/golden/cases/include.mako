before
# Ginclude "part"
after ${part_value}
