import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backoff } from './backoff';
import { type Change, matcher, Pending, type StatusChange } from './changes';
import { readChanges } from './stream';

const status = (process: string, state: string): StatusChange => ({
  kind: 'status',
  process,
  host: '0:10.0.0.1',
  state,
  next_at: null,
  restarts: 0,
  last_exit: null,
  restart_needed: false,
  pid: null,
  message: '',
  at: 0,
});

test('the latest change of a process wins, and events are all kept up to a bound', () => {
  const pending = new Pending();
  pending.add(status('a/b', 'starting'));
  pending.add(status('a/c', 'running'));
  pending.add(status('a/b', 'running'));
  const event = { kind: 'event', event: { process: 'a/b', host: '0:10.0.0.1', at: 1 } } as Change;
  for (let n = 0; n < 1000; n++) pending.add(event);
  const taken = pending.take();
  assert.deepEqual(taken.slice(0, 2), [status('a/c', 'running'), status('a/b', 'running')]);
  assert.equal(taken.length, 202);
  assert.equal(pending.size, 0);
});

test('an interest chooses by kind, subject and prefix', () => {
  const wants = matcher([{ kinds: ['status'], subjects: ['a/b@0:10.0.0.1'] }, { kinds: ['task'] }]);
  assert.equal(wants(status('a/b', 'running')), true);
  assert.equal(wants(status('a/c', 'running')), false);
  assert.equal(wants({ kind: 'task', id: 'x', state: 'running', total: 1, ended: 0, ok: 0 }), true);
  assert.equal(matcher([{ kinds: ['status'], prefix: 'a/b@' }])(status('a/b', 'running')), true);
  assert.equal(matcher([{ kinds: ['status'], prefix: 'a/b@' }])(status('a/bc', 'running')), false);
});

test('the wait doubles to 30 s, has jitter, and respects Retry-After', () => {
  assert.equal(backoff(0, 0), 250);
  assert.equal(backoff(0, 1), 500);
  assert.equal(backoff(3, 1), 4000);
  assert.equal(backoff(50, 1), 30_000);
  assert.ok(backoff(0, 0, 10_000) >= 10_000);
});

test('single events and batches are read alike', () => {
  const row = { kind: 'process_exit', process: 'a/b', host: '0:10.0.0.1', at: 1 };
  const expected = [{ kind: 'event', event: row }];
  assert.deepEqual(readChanges('event', JSON.stringify(row)), expected);
  assert.deepEqual(readChanges('changes', JSON.stringify({ changes: expected })), expected);
  assert.deepEqual(readChanges('changes', JSON.stringify({ changes: [row] })), expected);
  assert.deepEqual(readChanges('agent', '{"host":"0:10.0.0.1","connected":true}'), [
    { kind: 'agent', host: '0:10.0.0.1', connected: true },
  ]);
  assert.deepEqual(readChanges('changes', 'not JSON'), []);
});
