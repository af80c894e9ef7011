import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseAnsi, withoutAnsi } from './ansi';
import { LineRing, MatchingLines } from './ring';

test('output that is cut anywhere becomes the same lines', () => {
  const text = 'one\ntwo 中\r\n\nfour';
  for (let size = 1; size <= text.length; size++) {
    const ring = new LineRing();
    for (let at = 0; at < text.length; at += size) ring.push(text.slice(at, at + size));
    assert.deepEqual(ring.all(), ['one', 'two 中', '']);
    assert.equal(ring.pendingLine, 'four');
  }
});

test('the oldest lines go when there are too many, and are counted', () => {
  const ring = new LineRing(3, 1000);
  for (let n = 0; n < 100_000; n++) ring.push(`${n}\n`);
  assert.deepEqual(ring.all(), ['99997', '99998', '99999']);
  assert.equal(ring.dropped, 99_997);
  assert.equal(ring.line(2), '99999');
});

test('the oldest lines go when they are too long together', () => {
  const ring = new LineRing(1000, 100);
  for (let n = 0; n < 10; n++) ring.push(`${'x'.repeat(40)}${n}\n`);
  assert.equal(ring.length, 2);
});

test('a line that never ends is cut', () => {
  const ring = new LineRing();
  for (let n = 0; n < 100; n++) ring.push('y'.repeat(1024));
  assert.ok(ring.length >= 1);
  assert.ok(ring.pendingLine.length <= 64 * 1024);
});

test('colours become classes', () => {
  assert.deepEqual(parseAnsi('a \x1b[1;31merror\x1b[0m b'), [
    { text: 'a ', classes: '' },
    { text: 'error', classes: 'ansi-bold ansi-fg-1' },
    { text: ' b', classes: '' },
  ]);
  assert.deepEqual(parseAnsi('\x1b[38;5;2mgreen'), [{ text: 'green', classes: 'ansi-fg-2' }]);
  assert.deepEqual(parseAnsi('\x1b[38;2;1;2;3mtrue\x1b[m'), [{ text: 'true', classes: '' }]);
});

test('what moves a cursor, sets a title or rings a bell is removed, and markup stays text', () => {
  assert.deepEqual(parseAnsi('\x1b]0;title\x07\x1b[2J<b>x</b>\x07'), [{ text: '<b>x</b>', classes: '' }]);
  assert.equal(withoutAnsi('\x1b[31mred\x1b[0m\x1b[K'), 'red');
});

test('matching lines are found once, also after a new filter or a new log', () => {
  const ring = new LineRing();
  let looked = 0;
  const matching = new MatchingLines(line => {
    looked++;
    return line;
  });
  ring.push('Error one\nfine\n');
  assert.deepEqual(matching.of(ring, 'error'), ['Error one']);
  ring.push('error two\n');
  assert.deepEqual(matching.of(ring, 'error'), ['Error one', 'error two']);
  assert.equal(looked, 3);
  assert.deepEqual(matching.of(ring, 'fine'), ['fine']);
  ring.clear();
  ring.push('fine again\n');
  assert.deepEqual(matching.of(ring, 'fine'), ['fine again']);
});
