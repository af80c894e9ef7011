port ${6379 + LocalInstID - 1}
dir ${WorkPath}/redis/
% if SetEnviType == "3":
save 900 1
save 300 10
% endif
maxmemory ${2 * 1024 * 1024 * 1024}
requirepass ${global_variables["db_pass"]}
tcp-keepalive ${60 if not debug else 0}
