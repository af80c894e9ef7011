${SetName[0]}
${SetName[-1]}
${SetName[1:]}
${SetName[:-1]}
${SetName[::-1]}
${'abcdef'[1:5:2]}
${'abcdef'[-3:]}
${'abcdef'[10:]}
${'abcdef'[4:1:-1]}
${'a' 'b'}
${'a' + 'b' * 3}
${3 * 'ab'}
${'b' in 'abc'}
${'a' < 'b'}
${'it\'s'}
${"q\"q"}
${r'\d+\n'}
${'\x41\u4e2d\101'}
${'\d'}
${'''a
b'''}
${u'x'}
