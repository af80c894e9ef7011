import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accepts, applyChange, type OperationRow } from './list';

const row: OperationRow = {
  key: 'task a',
  kind: 'task',
  id: 'a',
  op: 'restart',
  state: 'running',
  total: 4,
  ok: 1,
  failed: 0,
  ignored: 0,
  user: 'ada',
  at: 1,
  business: null,
  namespaces: [],
  process: 'shop/web',
  others: 0,
};
const any = { kind: '', business: '', action: '', status: '', user: '', since: '' };

test('a filter leaves out what the server could not', () => {
  assert.ok(accepts(any, row));
  assert.ok(accepts({ ...any, kind: 'task', action: 'restart', status: 'running', user: 'ada' }, row));
  for (const other of [{ kind: 'job' }, { business: '2' }, { action: 'stop' }, { status: 'failed' }, { user: 'bob' }])
    assert.ok(!accepts({ ...any, ...other }, row));
  assert.ok(accepts({ ...any, status: 'running' }, { ...row, kind: 'job', state: 'pending' }));
});

test('a change of the stream says how far it is', () => {
  const ended = applyChange(row, { kind: 'task', id: 'a', state: 'finished', total: 4, ended: 4, ok: 3 });
  assert.deepEqual([ended.state, ended.ok, ended.failed], ['failed', 3, 1]);
});
