<%
    d = {'a': 1}
    d.update({'b': 2}, c=3)
    d.update([('e', 5)])
    x = d.pop('a'); y = d.pop('zz', None)
    d.setdefault('l', []).append(1)
    d.setdefault('l', []).append(2)
    c = d.copy()
    c['new'] = 1
    last = c.popitem()
%>${d} ${x} ${y} ${c} ${last}
