<%
    base = 1
    def f():
        return base
    def g(items):
        items.append(len(items))
        return items
    base = 5
    l = []
    g(l); g(l)
%>${f()} ${l}
