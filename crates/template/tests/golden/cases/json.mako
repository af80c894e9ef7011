{
  "id": ${bk_process_id},
  "name": "${ProcName}",
  "debug": ${'true' if debug else 'false'},
  "peers": [
% for h in hosts:
    {"ip": "${h['ip']}", "port": ${h['port']}}${'' if loop.last else ','}
% endfor
  ],
  "names": [${', '.join('"%s"' % n for n in sorted(names, key=lambda n: n.lower()))}],
  "openid": ${openid}
}
