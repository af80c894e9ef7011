<%def name="server(ip, port=80, **extra)">server ${ip}:${port}${' ' + extra['flag'] if 'flag' in extra else ''};</%def>\
% for h in hosts:
${server(h['ip'], h['port'])}
% endfor
${server('a')} ${server(port=1, ip='b', flag='down')}
<% text = capture(server, 'c') %>${len(text)} ${text.upper()}
