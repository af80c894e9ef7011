import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  isScaled,
  MAX_HEIGHT,
  MOST_ROWS,
  maxOffset,
  ROW_HEIGHT,
  revealRow,
  scrollHeight,
  toOffset,
  toScrollTop,
  visibleRows,
} from './scroll';

const million = { count: 1_000_000, view: 700 };
const small = { count: 30, view: 700 };

test('a million rows fit under a scrollbar that browsers can make', () => {
  assert.ok(isScaled(million));
  assert.equal(scrollHeight(million), MAX_HEIGHT);
});

test('the end of the scrollbar shows the last row, its begin the first', () => {
  const end = visibleRows(toOffset(scrollHeight(million) - million.view, million), million);
  assert.equal(end.end, 1_000_000);
  assert.ok((end.end - end.first) * ROW_HEIGHT - end.shift >= million.view);
  assert.equal(visibleRows(toOffset(0, million), million).first, 0);
});

test('offset and scrollbar position are inverse, scaled or not', () => {
  for (const geometry of [million, { count: 5000, view: 640 }]) {
    for (const part of [0, 0.1, 0.5, 0.999, 1]) {
      const offset = part * maxOffset(geometry);
      assert.ok(Math.abs(toOffset(toScrollTop(offset, geometry), geometry) - offset) < 0.01);
    }
  }
});

test('the DOM never has more rows than allowed, however high the window', () => {
  for (const view of [0, 28, 700, 5000]) {
    for (const offset of [0, 13, 1e7, 1e12]) {
      const { first, end } = visibleRows(offset, { count: 1_000_000, view });
      assert.ok(end - first <= MOST_ROWS && first >= 0 && end <= 1_000_000);
    }
  }
});

test('a short table shows all rows and does not scroll', () => {
  assert.deepEqual(visibleRows(500, { ...small, view: 28 * 40 }), { first: 0, end: 30, shift: 0 });
  assert.equal(maxOffset({ ...small, view: 28 * 40 }), 0);
});

test('revealing a row moves as little as possible', () => {
  assert.equal(revealRow(5, 0, million), 0);
  assert.equal(revealRow(0, 280, million), 0);
  assert.equal(revealRow(25, 0, million), 26 * ROW_HEIGHT - 700);
  assert.equal(revealRow(999_999, 0, million), maxOffset(million));
});

test('every row can be reached by wheel, also when scaled', () => {
  let offset = 0;
  const seen = new Set<number>();
  for (let step = 0; step < 200; step++) {
    seen.add(visibleRows(offset, million).first);
    offset += ROW_HEIGHT;
  }
  assert.equal(seen.size, 200);
});
