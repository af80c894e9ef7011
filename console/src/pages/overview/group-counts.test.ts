import assert from 'node:assert/strict';
import { test } from 'node:test';
import { groupsOf } from './group-counts';

const facets = (values: Record<string, number>) => ({
  count: 0,
  facets: [{ by: 'namespace', values: Object.entries(values).map(([value, count]) => ({ value, count })), more: 0 }],
});

test('groups are joined, and the worst comes first', () => {
  const groups = groupsOf('namespace', {
    all: facets({ web: 10, db: 5, batch: 3 }),
    bad: facets({ batch: 2 }),
    warn: facets({ db: 1 }),
    idle: facets({ web: 4 }),
  });
  assert.deepEqual(
    groups.map(({ value, good, idle, warn, bad }) => ({ value, good, idle, warn, bad })),
    [
      { value: 'batch', good: 1, idle: 0, warn: 0, bad: 2 },
      { value: 'db', good: 4, idle: 0, warn: 1, bad: 0 },
      { value: 'web', good: 6, idle: 4, warn: 0, bad: 0 },
    ],
  );
});
