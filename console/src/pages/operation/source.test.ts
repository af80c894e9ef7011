import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Pace } from './pace';
import { readJobTask, readTarget } from './source';

test('the pace is that of the last minute', () => {
  const pace = new Pace();
  assert.equal(pace.rate(), null);
  for (let second = 0; second <= 100; second++) pace.add(second * 1000, second * (second > 30 ? 10 : 1));
  assert.ok(Math.abs((pace.rate() ?? 0) - 10) < 0.5);
  assert.ok(Math.abs((pace.leftMs(100) ?? 0) - 10_000) < 500);
});

test('the code of a target says how it is', () => {
  const target = { process: 'a/b', host: '0:10.0.0.1', op: 'start', message: '', code: 115 };
  assert.equal(readTarget(target as never).status, 'running');
  assert.equal(readTarget({ ...target, code: 0 } as never).status, 'ok');
  assert.equal(readTarget({ ...target, code: 828 } as never).status, 'already');
  assert.equal(readTarget({ ...target, code: 829 } as never).status, 'already');
  assert.equal(readTarget({ ...target, code: 117 } as never).status, 'failed');
});

test('a task of an update says what its host has', () => {
  const task = { ordinal: 3, status: 'succeeded', name: 'a/b', host: '0:10.0.0.1', code: 0, reason: '' };
  const row = readJobTask({ ...task, has: 'new', spec_version: 7 } as never, 'update');
  assert.deepEqual([row.status, row.has, row.version], ['ok', 'new', 7]);
  assert.deepEqual([readJobTask(task as never, 'start').has, readJobTask(task as never, 'start').version], ['', null]);
});
