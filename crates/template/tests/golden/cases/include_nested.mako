# Ginclude "outer"
end