<%
    total = 0
    for h in hosts:
        if h['port'] == 80: continue
        total += h['port']
    else:
        total += 1
    a = b = [1, 2]
    a.append(3)
    (x, y), z = (1, 2), 3
    d = {'k': 1}
    d['k'] += 5
    d['new'] = [0]
    d['new'][0] -= 2
    del d['k']
    s = 'it' "'s" '''
  long
'''
    if total > 1:
        big = True
    elif total:
        big = None
    else:
        big = False; total = 0
    pass
%>
${total} ${a} ${b} ${x}${y}${z} ${d} ${s}${big}
