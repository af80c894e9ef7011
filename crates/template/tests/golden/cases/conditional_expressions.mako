${1 if port else 2} ${'a' if nothing else 'b' if port else 'c'} ${nothing or 'default'} ${port and SetName} ${not port} ${(lambda x: x if x else 'none')(empty)}
