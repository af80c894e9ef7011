import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Process } from '../api/types';
import type { StatusChange } from '../live/changes';
import { applyAgent, applyStatus } from './change';

const row = {
  namespace: 'web',
  name: 'api',
  host: '0:10.0.0.1',
  state: 'running',
  was: null,
  connected: true,
  cpu: 1,
  blocked: { start: 'already_running', stop: 'role' },
} as unknown as Process;

test('the state is unknown while the agent is away, and is back with it', () => {
  const away = applyAgent(row, { kind: 'agent', host: row.host, connected: false });
  assert.deepEqual([away.state, away.was, away.connected], ['unknown', 'running', false]);
  assert.deepEqual(applyAgent(away, { kind: 'agent', host: row.host, connected: false }), away);
  const back = applyAgent(away, { kind: 'agent', host: row.host, connected: true });
  assert.deepEqual([back.state, back.was, back.connected], ['running', null, true]);
});

test('a change keeps what it does not say, and drops hints of the old state', () => {
  const change = {
    kind: 'status',
    process: 'web/api',
    host: row.host,
    state: 'stopped',
    message: '',
    pid: null,
    restarts: 0,
    at: 5,
  } as unknown as StatusChange;
  const now = applyStatus(row, change);
  assert.equal(now.state, 'stopped');
  assert.equal(now.cpu, 1);
  assert.deepEqual(now.blocked, { stop: 'role' });
});
