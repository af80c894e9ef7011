import assert from 'node:assert/strict';
import { test } from 'node:test';
import { linesOf } from './state-lines';

test('states that occurred are lines, good first, and two of one colour differ by dashes', () => {
  const lines = linesOf({
    backoff: [null, 0, 2],
    failed: [0, 0, 0],
    running: [5, null, 7],
    unhealthy: [1, 0, 0],
    novel: [1, 1, 1],
    stopped: [null, 1, 1],
  });
  assert.deepEqual(
    lines.map(({ state, colour, dashed }) => [state, colour, dashed]),
    [
      ['running', '--good', false],
      ['stopped', '--idle', false],
      ['unhealthy', '--warn', false],
      ['backoff', '--warn', true],
      ['novel', '--idle', true],
    ],
  );
});
