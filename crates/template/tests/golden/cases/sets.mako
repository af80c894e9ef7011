${sorted(set([3, 1, 3]))}
${len({1, 2, 2})}
${sorted({1, 2} | {3})}
${sorted({1, 2} & {2})}
${sorted({1, 2} - {2})}
${sorted({1, 2} ^ {2, 3})}
${2 in {1, 2}}
${sorted(set(names).union(['x']))}
${set()}
${{5}}
${{1, 2} == {2, 1}}
${{1} <= {1, 2}}
${{1}.issubset([1, 2])}
${sorted({n[0] for n in names})}
${max({3, 9})}
${sum({1, 2})}
${any({0})}
