import assert from 'node:assert/strict';
import { test } from 'node:test';
import { boxState, everything, isSelected, NOTHING, selectedCount, setSelected, toggle } from './selection';

test('rows are toggled one by one', () => {
  const one = toggle(NOTHING, 'a');
  assert.equal(selectedCount(one), 1);
  assert.ok(isSelected(one, 'a'));
  assert.equal(selectedCount(toggle(one, 'a')), 0);
});

test('everything that matches minus exceptions needs no list of rows', () => {
  const most = toggle(toggle(everything(102_345), 'a'), 'b');
  assert.equal(selectedCount(most), 102_343);
  assert.equal(isSelected(most, 'a'), false);
  assert.equal(isSelected(most, 'never seen'), true);
  assert.equal(selectedCount(toggle(most, 'a')), 102_344);
});

test('a range is set, not toggled', () => {
  const range = setSelected(toggle(NOTHING, 'b'), ['a', 'b', 'c'], true);
  assert.equal(selectedCount(range), 3);
  assert.equal(selectedCount(setSelected(range, ['a', 'b'], false)), 1);
});

test('excepting all leaves nothing', () => {
  assert.deepEqual(setSelected(everything(2), ['a', 'b'], false), NOTHING);
});

test('a selection does not change when another is made from it', () => {
  const before = toggle(NOTHING, 'a');
  setSelected(before, ['b'], true);
  assert.equal(selectedCount(before), 1);
});

test('the box of the header', () => {
  assert.equal(boxState(NOTHING, ['a']), 'none');
  assert.equal(boxState(toggle(NOTHING, 'a'), ['a', 'b']), 'some');
  assert.equal(boxState(setSelected(NOTHING, ['a', 'b'], true), ['a', 'b']), 'all');
  assert.equal(boxState(everything(9), []), 'all');
});
