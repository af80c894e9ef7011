<%
    def fact(n):
        return 1 if n < 2 else n * fact(n - 1)
    def many(a, b=2, *rest, c=3, **more):
        return [a, b, rest, c, sorted(more.items())]
    def outer(x):
        def inner(y):
            return x + y
        return inner
    def nothing_returned():
        pass
    add = lambda a, b=10: a + b
    counters = [lambda i=i: i for i in range(3)]
%>
${fact(20)} ${many(1)} ${many(1, 5, 6, 7, c=8, d=9)} ${many(*[1, 2, 3], **{'z': 1})} ${outer(3)(4)} ${nothing_returned()} ${add(1)} ${add(b=1, a=2)} ${[f() for f in counters]}
