import assert from 'node:assert/strict';
import { test } from 'node:test';
import { diffLines, fold } from './diff';

const marks = (before: string, after: string) =>
  diffLines(before, after).map(({ kind, text }) => `${kind === 'same' ? ' ' : kind === 'added' ? '+' : '-'}${text}`);

test('a line that changed is removed and added, the others stay', () => {
  assert.deepEqual(marks('a\nb\nc\n', 'a\nx\nc\n'), [' a', '-b', '+x', ' c']);
  assert.deepEqual(marks('', 'a\n'), ['+a']);
  assert.deepEqual(marks('a\n', ''), ['-a']);
  assert.deepEqual(marks('a\nb\n', 'a\nb'), [' a', ' b']);
  assert.deepEqual(marks('a\nb\nc\nd', 'b\nc\ne\nd'), ['-a', ' b', ' c', '+e', ' d']);
});

test('equal lines far from a difference are folded', () => {
  const text = Array.from({ length: 20 }, (_, index) => `line ${index}`).join('\n');
  const folded = fold(diffLines(text, text.replace('line 10', 'other')));
  assert.deepEqual(folded[0], 7);
  assert.equal(folded.length, 10);
});
