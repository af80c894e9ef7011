import assert from 'node:assert/strict';
import { test } from 'node:test';
import { byCursor } from './cursor';

const signal = new AbortController().signal;

/** The numbers 0 to n - 1, at most three at a time. */
function numbers(n: number) {
  const asked: number[] = [];
  const rows = byCursor<number, number>(0, async (from, limit) => {
    asked.push(from);
    const end = Math.min(n, from + Math.min(limit, 3));
    return { rows: Array.from({ length: end - from }, (_, i) => from + i), next: end < n ? end : null };
  });
  return { rows, asked };
}

test('pages are filled, and one more row than is loaded is promised until the end', async () => {
  const { rows } = numbers(11);
  assert.deepEqual(await rows(0, 5, signal), { count: 6, rows: [0, 1, 2, 3, 4] });
  assert.deepEqual(await rows(5, 5, signal), { count: 11, rows: [5, 6, 7, 8, 9] });
  assert.deepEqual(await rows(10, 5, signal), { count: 11, rows: [10] });
  assert.deepEqual(await rows(5, 5, signal), { count: 11, rows: [5, 6, 7, 8, 9] });
});

test('a page further on loads those before it', async () => {
  const { rows, asked } = numbers(11);
  assert.deepEqual(await rows(10, 5, signal), { count: 11, rows: [10] });
  assert.deepEqual(asked, [0, 3, 5, 8, 10]);
});

test('an empty list, and a page after its end', async () => {
  const { rows } = numbers(0);
  assert.deepEqual(await rows(0, 5, signal), { count: 0, rows: [] });
  assert.deepEqual(await rows(5, 5, signal), { count: 0, rows: [] });
});
