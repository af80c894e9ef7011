${f'{port}'}
${f'{port + 1:05d}'}
${f'{SetName!r:>8}'}
${f'{{{port}}}'}
${f'{pi:.2f} {ratio:%}'}
${f'{hosts[0]["ip"]}'}
${f'{pi:{5}.{2}}'}
${f'a' 'b' f'{1}'}
${f'{names}'}
${f'{port if port else 0}'}
${f'{ {1: 2}[1] }'}
${rf'\d{port}'}
${f'''{port}
'''}
${f'{port:>{LocalInstID + 6}}'}
