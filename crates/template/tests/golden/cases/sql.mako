INSERT INTO zone VALUES
% for z in sorted(zones):
  (${loop.index + 1}, '${z}', ${len(zones[z])})${';' if loop.last else ','}
% endfor
