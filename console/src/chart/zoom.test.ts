import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buckets, fitted, moved, readRange, scaled, whole, writeRange } from './zoom';

/** 0 to 3600 s, a figure every 10 s. */
const span = { until: 3_600_000, stepSecs: 10, length: 361 };

test('zooming in and out keeps to the figures', () => {
  assert.deepEqual(whole(span), { from: 0, to: 3600 });
  const half = scaled(null, span, 0.5);
  assert.deepEqual(half, { from: 900, to: 2700 });
  assert.equal(scaled(half, span, 2), null);
  assert.deepEqual(scaled({ from: 0, to: 100 }, span, 2), { from: 0, to: 200 });
  assert.deepEqual(scaled({ from: 0, to: 60 }, span, 0.1), { from: 0, to: 60 });
});

test('moving stops at both ends', () => {
  assert.deepEqual(moved({ from: 900, to: 2700 }, span, -0.5), { from: 0, to: 1800 });
  assert.deepEqual(moved({ from: 100, to: 700 }, span, -0.5), { from: 0, to: 600 });
  assert.deepEqual(moved({ from: 2900, to: 3500 }, span, 0.5), { from: 3000, to: 3600 });
  assert.equal(moved(null, span, 0.5), null);
});

test('a range that the figures have left behind is all of them', () => {
  assert.equal(fitted({ from: -900, to: -100 }, span), null);
  assert.equal(fitted({ from: 4000, to: 5000 }, span), null);
  assert.equal(fitted({ from: -100, to: 4000 }, span), null);
});

test('a range is in the address', () => {
  assert.equal(writeRange({ from: 900.4, to: 2700 }), '900-2700');
  assert.deepEqual(readRange('900-2700'), { from: 900, to: 2700 });
  for (const wrong of ['', '9', '2700-900', 'a-b', '1-2-3']) assert.equal(readRange(wrong), null);
  assert.equal(writeRange(null), '');
});

test('a table has the largest value of each part', () => {
  const values = Array.from({ length: 361 }, (_, n) => (n < 10 ? null : n));
  const all = buckets([values], null, span, 60);
  assert.equal(all.length, 51);
  assert.deepEqual(all[0], { at: 70_000, most: [13] });
  assert.deepEqual(all[50], { at: 3_570_000, most: [360] });
  const nothing = values.map(() => null);
  assert.deepEqual(buckets([nothing], null, span, 60), []);
  assert.deepEqual(buckets([nothing, values], null, span, 60)[0], { at: 70_000, most: [null, 13] });
  assert.deepEqual(buckets([values], { from: 200, to: 220 }, span, 60), [
    { at: 200_000, most: [20] },
    { at: 210_000, most: [21] },
    { at: 220_000, most: [22] },
  ]);
});
