import assert from 'node:assert/strict';
import { test } from 'node:test';
import { programOf } from './program';

test('a browser is named by its own name, another program by its first word', () => {
  for (const [agent, name] of [
    ['Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0', 'Firefox 140 (X11)'],
    [
      'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/148.0.0.0 Safari/537.36',
      'Chrome 148 (Windows NT 10.0)',
    ],
    ['Mozilla/5.0 (X11) AppleWebKit/537.36 Chrome/148.0 Safari/537.36 Edg/148.0', 'Edge 148 (X11)'],
    ['Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 HeadlessChrome/148.0.0.0 Safari/537.36', 'Chrome 148 (X11)'],
    ['muster/0.1.0', 'muster/0.1.0'],
    ['curl/8.5 something', 'curl/8.5'],
  ] as const)
    assert.equal(programOf(agent), name);
});
