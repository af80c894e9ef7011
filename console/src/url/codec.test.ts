import assert from 'node:assert/strict';
import { test } from 'node:test';
import { choice, codec, flag, list, queryString, repeated, segment, text } from './codec';

const page = codec({
  ns: list(),
  process: repeated(),
  q: text(),
  managed: flag(),
  tab: choice(['why', 'logs'], 'why'),
});

test('a state survives the way into the address and back', () => {
  const state = {
    ns: ['web', 'db'],
    process: ['[web,db]/api-?', 'a&b=c/<b>'],
    q: 'two words + 100% ü',
    managed: false,
    tab: 'logs' as const,
  };
  assert.deepEqual(page.read(page.write(state)), state);
});

test('defaults are left out', () => {
  assert.equal(page.write({ ns: [], process: [], q: '', managed: null, tab: 'why' }), '');
});

test('the order of parameters does not depend on the state', () => {
  assert.equal(page.write({ q: 'x', ns: ['web'] }), page.write({ ns: ['web'], q: 'x' }));
});

test('an unknown choice and an unknown parameter are ignored', () => {
  assert.equal(page.read('?tab=nonsense&other=1').tab, 'why');
});

test('addresses stay readable', () => {
  assert.equal(queryString([['host', '0:10.0.0.1,0:10.0.0.2']]), '?host=0:10.0.0.1,0:10.0.0.2');
});

test('a segment never has a slash or a question mark', () => {
  assert.equal(segment('0:127.0.0.1'), '0:127.0.0.1');
  assert.match(segment('a/b?c#d'), /^[^/?#]+$/);
});
