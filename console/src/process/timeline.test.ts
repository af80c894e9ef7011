import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TimelineEntry } from '../api/types';
import { grouped } from './timeline';

const entry = (id: number, text: string, more: Partial<TimelineEntry> = {}) =>
  ({ id, at: 100 - id, kind: 'event', text, ...more }) as unknown as TimelineEntry;

test('entries that say the same are one, whatever their figures', () => {
  const groups = grouped([
    entry(1, 'gave up after 4 attempts'),
    entry(2, 'exited with code 1 after 0.0 s'),
    entry(3, 'exited with code 1 after 12.5 s'),
    entry(4, 'restart was requested', { kind: 'operation', task_id: 'b' }),
    entry(5, 'restart was requested', { kind: 'operation', task_id: 'a' }),
    entry(6, 'exited with code 1 after 3 s'),
  ]);
  assert.deepEqual(
    groups.map(group => [group.entry.id, group.count, group.since]),
    [
      [1, 1, 99],
      [2, 2, 97],
      [4, 1, 96],
      [5, 1, 95],
      [6, 1, 94],
    ],
  );
});
