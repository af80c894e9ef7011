import assert from 'node:assert/strict';
import { test } from 'node:test';
import { keyName } from './keys';

const press = (key: string, more: Partial<KeyboardEvent> = {}) =>
  keyName({ key, ctrlKey: false, metaKey: false, shiftKey: false, altKey: false, ...more });

test('keys have one name on all keyboards', () => {
  assert.equal(press('j'), 'j');
  assert.equal(press('?', { shiftKey: true }), '?');
  assert.equal(press('X', { shiftKey: true }), 'Shift+x');
  assert.equal(press('k', { ctrlKey: true }), 'Ctrl+k');
  assert.equal(press('K', { metaKey: true }), 'Ctrl+k');
  assert.equal(press('Enter', { shiftKey: true }), 'Shift+Enter');
});
