% for n in names:
name.${loop.index}=${n}
% endfor
% for i in range(1, 4):
shard.${i}.port=${port + i * 10}
shard.${i}.hex=${hex(port + i)}
% endfor
