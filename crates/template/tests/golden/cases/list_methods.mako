<%
    l = [3, 1, 2]
    l.append(4); l.extend([5, 6]); l.insert(0, 'x'); l.insert(-1, 'y')
    last = l.pop(); first = l.pop(0)
    l.remove('y')
    c = l.copy()
    c.reverse()
    l.sort(reverse=True)
    l += (9,)
    n = [[1], [2]]
    n[0].append(n[1])
    e = [1]
    e.clear()
%>${l} ${c} ${first} ${last} ${n} ${e}
