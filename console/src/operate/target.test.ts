import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Plan } from '../api/types';
import { byProcess, crossFilter, mergePlans, mustType, processKey, splitKey } from './target';

const plan = (more: Partial<Plan>): Plan => ({
  count: 1,
  hosts: 1,
  namespaces: [],
  environments: [],
  blocked: [],
  commands: [],
  sample: [],
  ...more,
});

test('a key names a process on a host and is read back, also with an IPv6 address', () => {
  const key = processKey({ namespace: 'web', name: 'api', host: '0:[fd00::1]' });
  assert.deepEqual(splitKey(key), { process: 'web/api', host: '0:[fd00::1]' });
});

test('rows become a filter, and groups that are exact', () => {
  const keys = ['web/api@0:10.0.0.1', 'web/api@0:10.0.0.2', 'db/pg@0:10.0.0.1'];
  assert.deepEqual(crossFilter(keys), { process: ['web/api', 'db/pg'], host: ['0:10.0.0.1', '0:10.0.0.2'] });
  assert.deepEqual(byProcess(keys), [
    { process: 'web/api', hosts: ['0:10.0.0.1', '0:10.0.0.2'] },
    { process: 'db/pg', hosts: ['0:10.0.0.1'] },
  ]);
});

test('plans are added up', () => {
  const merged = mergePlans([
    plan({
      count: 2,
      blocked: [{ reason: 'agent_away', count: 1, hosts: ['0:10.0.0.1'] }],
      commands: [{ command: 'a', count: 2 }],
    }),
    plan({
      count: 3,
      blocked: [{ reason: 'agent_away', count: 2, hosts: ['0:10.0.0.2'] }],
      commands: [{ command: 'b', count: 3 }],
    }),
  ]);
  assert.equal(merged.count, 5);
  assert.deepEqual(merged.blocked, [{ reason: 'agent_away', count: 3, hosts: ['0:10.0.0.1', '0:10.0.0.2'] }]);
  assert.deepEqual(merged.commands, [
    { command: 'b', count: 3 },
    { command: 'a', count: 2 },
  ]);
});

test('a formal environment or more than 100 targets must be typed', () => {
  assert.equal(mustType(plan({ count: 100 })), null);
  assert.equal(mustType(plan({ count: 101 })), 'many');
  assert.equal(mustType(plan({ count: 1, environments: [{ value: 'formal', count: 1 }] })), 'formal');
  assert.equal(mustType(plan({ count: 1, environments: [{ value: 'formal', count: 0 }] })), null);
});
