import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readAddresses } from '../../filter/spec';
import { addValue, chipsOf, listState, readToken, removeValue, splitLabels, toFilter } from './filter';

test('every chip can be removed, and without chips there is no filter', () => {
  let state = listState.read(
    '?ns=web,db&name=api&host=0:10.0.0.1&process=%5Bweb,db%5D/a-?&label=tier=front,a%5C,b&state=failed&wanted=running&managed=true&connected=false&restart=true&business=2&env=formal&cloud=0&version=0.1.0&q=x+y',
  );
  const chips = chipsOf(state);
  assert.equal(chips.length, 17);
  for (const chip of chips) state = { ...state, ...removeValue(state, chip) };
  assert.deepEqual(toFilter(state), {});
});

test('adding the value of a chip gives the chip', () => {
  const empty = listState.read('');
  for (const [dimension, value] of [
    ['ns', 'web'],
    ['managed', 'false'],
    ['label', 'tier=front'],
    ['wanted', 'running'],
    ['q', 'x'],
  ] as const)
    assert.deepEqual(chipsOf({ ...empty, ...addValue(empty, dimension, value) }), [{ dimension, value }]);
});

test('pasted addresses are recognised, other text is not', () => {
  assert.deepEqual(readAddresses('10.0.0.1\n10.0.0.2, 3:10.0.0.3；10.0.0.1'), ['10.0.0.1', '10.0.0.2', '3:10.0.0.3']);
  assert.deepEqual(readAddresses('fd00::1 [fd00::2]'), ['fd00::1', '[fd00::2]']);
  assert.equal(readAddresses('web api'), null);
  assert.equal(readAddresses(''), null);
});

test('words before a colon name a dimension', () => {
  assert.deepEqual(readToken('namespace: web'), { dimension: 'ns', value: 'web' });
  assert.deepEqual(readToken('state:failed'), { dimension: 'state', value: 'failed' });
  assert.equal(readToken('10:20'), null);
  assert.equal(readToken('web'), null);
});

test('a comma of a label value does not separate', () => {
  assert.deepEqual(splitLabels('a=b,c=d\\,e,!f'), ['a=b', 'c=d\\,e', '!f']);
});
