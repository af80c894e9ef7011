import assert from 'node:assert/strict';
import { test } from 'node:test';
import { alike, groupFailures, inGroup } from './groups';
import type { ResultRow } from './source';

const row = (host: string, message: string, code = 1): ResultRow => ({
  key: host,
  status: 'failed',
  process: 'shop/web',
  host,
  op: 'start',
  code,
  message,
  reason: null,
  command: '',
  output: '',
  exit: { code: null, signal: null },
  tookMs: null,
  solutions: [],
  expression: '',
});

test('numbers, hosts and paths do not split a group', () => {
  assert.equal(alike('port 8080 of 0:10.0.0.1 is taken'), alike('port 81 of 0:10.0.0.22 is taken'));
  assert.equal(alike('cannot read /a/b: gone'), alike('cannot read /c: gone'));
  assert.equal(alike('zone-2.127.0.0.1_match.3'), 'zone-…_match.…');
  assert.notEqual(alike('gone'), alike('taken'));
});

test('groups are the most frequent first, with three hosts', () => {
  const rows = ['a', 'b', 'c', 'd'].map((host, index) => row(host, `port ${index} is taken`));
  const groups = groupFailures([row('z', 'no such user'), ...rows, { ...row('y', ''), status: 'ok' }]);
  assert.deepEqual(
    groups.map(group => [group.count, group.hosts]),
    [
      [4, ['a', 'b', 'c']],
      [1, ['z']],
    ],
  );
  assert.equal(rows.filter(one => inGroup(one, '1', groups[0]?.reason ?? '')).length, 4);
});
