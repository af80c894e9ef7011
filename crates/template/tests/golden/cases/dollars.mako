$HOME $(date) ${"$"}{x} $$ $${port} {${port}} }$ {
