BindMode UNIQ
<%
    def addr(ip, base, inst=1):
        """The address of an instance."""
        return "tcp://%s:%d?reuse=1" % (ip, base + inst)

    world = int(SetName.strip('q') or 0)
%>\
% for h in hosts:
Listener${loop.index} ${addr(h["ip"], 10000 + world * 100, loop.index)}
% endfor
World ${world} ${'%d.%d.%d' % (world, InstID, LocalInstID)}
