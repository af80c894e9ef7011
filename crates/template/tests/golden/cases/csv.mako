${",".join(sorted(hosts[1]))}
% for h in hosts:
${",".join(str(h.get(k, "")) for k in sorted(hosts[1]))}
% endfor
