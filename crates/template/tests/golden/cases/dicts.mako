${limits}
${limits['rate']}
${limits.get('rate')}
${limits.get('x')}
${limits.get('x', 5)}
${'rate' in limits}
${list(limits)}
${list(limits.keys())}
${list(limits.values())}
${list(limits.items())}
${limits.items()}
${limits.keys()}
${len(limits)}
${sorted(limits.items(), key=lambda kv: kv[1])}
${{k: v * 2 for k, v in limits.items()}}
${{'a': 1, **limits}}
${dict(a=1, b=2)}
${dict([('x', 1)])}
${dict(limits, rate=1)}
${dict(zip(names, range(2)))}
${{1: 'a', 1.0: 'b', True: 'c'}}
${{(1, 2): 'tuple'}[(1, 2)]}
${{'a': {'b': [1, {'c': None}]}}['a']['b'][1]}
${{'a': 1} == {'a': 1.0}}
${(limits | {'c': 3})}
${{}}
${dict()}
${{'q': "it's", "d": 'a"b'}}
${{None: 1, 'x': True}}
${zones['east'][0]}
${max(limits, key=limits.get)}
${bool({})}
${hasattr(limits, 'items')}
${getattr(this, 'attrib')['InstID']}
${getattr(this, 'nix', 'default')}
