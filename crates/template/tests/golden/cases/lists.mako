${[1, 2] + [3]}
${[0] * 3}
${[1, 'a', None, True, 1.5, [2], (3,), {}]}
${names[0]}
${names[-1]}
${names[1:3]}
${names[::-1]}
${names[::2]}
${sorted(names)}
${sorted(names, key=len)}
${sorted(names, key=str.lower, reverse=True)}
${sorted([3, 1, 2], reverse=True)}
${list('abc')}
${list(range(3))}
${range(3)}
${range(1, 10, 3)}
${list(range(10))[2:8:3]}
${list(enumerate(['a', 'b'], 1))}
${list(zip([1, 2], 'ab', [True, None]))}
${list(map(lambda x: x * 2, [1, 2]))}
${list(filter(None, [0, 1, '', 'a']))}
${list(filter(lambda x: x > 1, [1, 2, 3]))}
${list(reversed([1, 2, 3]))}
${[x * y for x in [1, 2] for y in [10, 20] if x * y != 20]}
${[[c for c in row if c % 2] for row in matrix]}
${max(names)}
${max(names, key=len)}
${min(hosts, key=lambda h: h['port'])['ip']}
${max([], default='none')}
${any(x > 2 for x in [1, 2, 3])}
${all([])}
${len(names)}
${'beta' in names}
${names.index('Gamma')}
${[1, 2, 1].count(1)}
${[1, 2] == [1, 2]}
${[1, 2] < [1, 3]}
${(1, 'a') < (2,)}
${(1, 2) + (3,)}
${(1,)}
${()}
${tuple([1, 2])}
${[*names, *[1]]}
${next(x for x in names if 'm' in x)}
${sum(len(n) for n in names)}
${[] or 'empty'}
${[1, 2, 3][True]}
${isinstance([], list)}
${isinstance(1, (str, int))}
${type('') == str}
${'%s' % type(1)}
${bool([])}
${str([1])}
${repr('a\n')}
${next((n for n in names if n == 'x'), 'none')}
${max((len(n) for n in names), default=0)}
${sorted((n for n in names), reverse=True)}
<%
    seen = []
    def look(x):
        seen.append(x)
        return x
%>${any(look(x) > 1 for x in [1, 2, 3])} ${seen} ${all(look(x) < 1 for x in [1, 2])} ${seen} ${next(look(x) + y for x in [5, 6] if x for y in [1, 2])} ${seen}
${next((h['weight'] for h in hosts[1:]), 0)} ${any(1 / x for x in [1, 0])} ${next((x for x in [] if x), None)} ${any(x for y in [[], [0, 3]] for x in y)} ${all(x for x in [])}
