[server]
id = ${InstID}
name = ${ProcName}-${'%03d' % LocalInstID}
work_path = ${WorkPath}
log = ${WorkPath + '/log/' + FuncName + '.log'}
; ratios
pi = ${'%.3f' % pi}
ratio = ${ratio}
xp_rate = ${flags['xp_rate']}
[features]
% for key, value in sorted(flags.items()):
${key.upper()} = ${str(value).lower()}
% endfor
[peers]
list = ${', '.join(h['ip'] for h in hosts if h['ip'] != InnerIP)}
count = ${len(hosts)}
