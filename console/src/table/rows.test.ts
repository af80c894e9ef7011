import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Rows } from './rows';

interface Row {
  id: number;
  state: string;
}

const settled = (ms = 0) => new Promise(resolve => setTimeout(resolve, ms));

function table(count: number) {
  const asked: number[] = [];
  const rows = new Rows<Row>(
    async (start, limit) => {
      asked.push(start);
      const end = Math.min(count, start + limit);
      return {
        count,
        rows: Array.from({ length: end - start }, (_, index) => ({ id: start + index, state: 'running' })),
      };
    },
    row => String(row.id),
  );
  return { rows, asked };
}

test('scrolling asks once for each 200 rows', async () => {
  const { rows, asked } = table(1_000_000);
  for (let first = 0; first <= 2000; first += 5) {
    rows.show(first, first + 30);
    await settled();
  }
  assert.deepEqual(asked, [0, 200, 400, 600, 800, 1000, 1200, 1400, 1600, 1800, 2000]);
  assert.equal(rows.row(2010)?.id, 2010);
});

test('a drag from the first to the last row asks at most three times', async () => {
  const { rows, asked } = table(1_000_000);
  rows.show(0, 30);
  await settled();
  for (let step = 1; step <= 100; step++) {
    const first = Math.min(999_970, step * 10_000);
    rows.show(first, first + 30);
  }
  await settled(150);
  assert.ok(asked.length <= 3, `${asked}`);
  assert.equal(rows.row(999_999)?.id, 999_999);
});

test('memory stays bounded and what is shown is kept', async () => {
  const { rows } = table(1_000_000);
  for (let first = 0; first < 40_000; first += 50) {
    rows.show(first, first + 30);
    await settled();
  }
  assert.equal(rows.row(0), undefined);
  assert.equal(rows.row(39_960)?.id, 39_960);
  assert.equal(rows.indexOf('5'), undefined);
});

test('a live change stays in its place', async () => {
  const { rows } = table(100);
  rows.show(0, 30);
  await settled();
  assert.ok(rows.patch('7', row => ({ ...row, state: 'failed' })));
  assert.equal(rows.row(7)?.state, 'failed');
  assert.equal(
    rows.patch('700', row => row),
    false,
  );
});

test('old rows stay until the new ones are there, also after an error', async () => {
  const { rows } = table(100);
  rows.show(0, 30);
  await settled();
  rows.replace(async () => {
    await settled(5);
    throw new Error('no');
  });
  assert.equal(rows.row(3)?.id, 3);
  await settled(20);
  assert.equal(rows.row(3)?.id, 3);
  assert.equal(rows.error.value?.message, 'no');
  rows.replace(async () => ({ count: 1, rows: [{ id: 900, state: 'failed' }] }));
  await settled(5);
  assert.equal(rows.row(0)?.id, 900);
  assert.equal(rows.row(3), undefined);
  assert.equal(rows.count.value, 1);
});
