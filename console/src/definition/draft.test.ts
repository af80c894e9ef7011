import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changesOf } from './changes';
import { jsonText, labelsOf, labelsText, numberOf, placeOf, readText, valueAt, withValue, wordsOf } from './draft';

const spec = {
  control: { start_cmd: './run', stop_cmd: '' },
  probes: { ready: { http: { port: 80, path: '/' }, interval: 5 } },
  after: [{ process: 'db/a' }, { process: 'db/b', when: 'up' }],
};

test('fields are read and written by the path that errors name', () => {
  assert.equal(valueAt(spec, 'probes.ready.http.port'), 80);
  assert.equal(valueAt(spec, 'after[1].when'), 'up');
  assert.equal(valueAt(spec, 'stop.signals[0]'), undefined);
  assert.equal(valueAt(withValue(spec, 'after[0].when', 'ready'), 'after[0].when'), 'ready');
  assert.deepEqual(withValue({}, 'restart.delay', 3), { restart: { delay: 3 } });
});

test('a field that is taken out takes empty sections with it', () => {
  assert.deepEqual(withValue({ a: 1, restart: { delay: 3 } }, 'restart.delay', undefined), { a: 1 });
  assert.deepEqual(withValue({ after: [{ process: 'db/a' }] }, 'after[0]', undefined), {});
  assert.deepEqual(valueAt(withValue(spec, 'after[0]', undefined), 'after'), [{ process: 'db/b', when: 'up' }]);
});

test('what was given is not changed', () => {
  const before = JSON.stringify(spec);
  withValue(spec, 'probes.ready.http.port', 81);
  withValue(spec, 'after[0]', undefined);
  assert.equal(JSON.stringify(spec), before);
});

test('text that is no number stays, so that the server can refuse it', () => {
  assert.deepEqual(['12', ' 1.5 ', 'never', '', '1e3'].map(numberOf), [12, 1.5, 'never', undefined, '1e3']);
  assert.deepEqual(wordsOf('200, 2xx 300-399'), [200, '2xx', '300-399']);
  assert.equal(wordsOf(' , '), undefined);
});

test('labels are a pair in each line', () => {
  const labels = { tier: 'front', note: 'a=b, c' };
  assert.deepEqual(labelsOf(labelsText(labels)), labels);
  assert.deepEqual(labelsOf('\nalone\n'), { alone: '' });
});

test('JSON text is read back', () => {
  const definition = { spec, labels: { tier: 'front' } };
  assert.deepEqual(readText(jsonText(definition)), { definition });
});

test('text that is no definition says where', () => {
  const wrong = (text: string) => {
    const read = readText(text);
    return 'error' in read ? [read.error.line, read.error.column] : null;
  };
  assert.deepEqual(wrong('x{}'), [1, 1]);
  assert.deepEqual(wrong('{\n  "spec": {,}\n}'), [2, 12]);
  assert.deepEqual(wrong('{\n  "spec": {"a": [1, 2 3]}\n}'), [2, 23]);
  assert.deepEqual(wrong('{"spec": {}} more'), [1, 14]);
  assert.deepEqual(wrong('{\n  "spec": {"a": "\\u00e9", "b": -1.5e3, "c": [], "d": null},\n}'), [3, 1]);
  assert.deepEqual(wrong('{\n  "spec": {'), [2, 12]);
  assert.deepEqual(wrong('{\n  "spec": {},\n  "label": {}\n}'), [3, 3]);
  assert.deepEqual(wrong('{\n  "spec": []\n}'), [2, 3]);
  assert.deepEqual(wrong('[]'), [1, 1]);
});

test('the line of a field is found in the text, or that of its section', () => {
  const text = jsonText({ spec, labels: {} });
  const lineOf = (path: string) => {
    const place = placeOf(text, path);
    return place && text.split('\n')[place.line - 1]?.trim();
  };
  assert.equal(lineOf('spec.probes.ready.http.port'), '"port": 80,');
  assert.equal(lineOf('spec.probes.ready.tcp.port'), '"ready": {');
  assert.equal(lineOf('spec.after[1].when'), '"when": "up"');
  assert.equal(lineOf('spec.control.stop_cmd'), '"stop_cmd": ""');
  assert.equal(lineOf('other'), null);
});

test('only what differs is a change, and empty is as good as absent', () => {
  const before = { spec: { control: { start_cmd: 'a', stop_cmd: '' }, restart: {} }, labels: { tier: 'x' } };
  const after = { spec: { control: { start_cmd: 'b' }, stop: { grace: 5 } }, labels: {} };
  assert.deepEqual(changesOf(before, after), [
    { field: 'control.start_cmd', before: '"a"', after: '"b"' },
    { field: 'labels.tier', before: '"x"', after: null },
    { field: 'stop.grace', before: null, after: '5' },
  ]);
});
