## The front of ${SetName}
worker_processes  4;
pid ${PidFile};

upstream game {
% for h in hosts:
    server ${h['ip']}:${h['port']} weight=${h.get('weight', 1)}${' backup' if loop.last else ''};
% endfor
}

server {
    listen ${port + InstID};
    server_name ${SetName.lower()}.${ModuleName}.example.com;
% if limits['rate'] > 50 and not debug:
    limit_req zone=one burst=${limits['burst']} nodelay;
% elif debug:
    error_log stderr debug;
% else:
    error_log /var/log/nginx/error.log;
% endif
    location / {
        proxy_pass http://game;
        proxy_set_header Host $host;
        proxy_set_header X-Real-IP $remote_addr;
        set $cond "${ "1" if SetName in ("aqq", "qq1") else "0" }";
    }
}
