import assert from 'node:assert/strict';
import { test } from 'node:test';
import { safeNext } from './next';

test('a login leads to pages of the console only', () => {
  assert.equal(safeNext('/ui/processes?q=a'), '/ui/processes?q=a');
  for (const other of [
    undefined,
    '',
    '//evil.example/ui/',
    'https://evil.example/ui/',
    '/api/v1/logout',
    'javascript:alert(1)',
    '/ui/../api',
    '/ui/login',
    '\\\\evil.example',
  ])
    assert.equal(safeNext(other), '/ui/');
});
