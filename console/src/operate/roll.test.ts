import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type RollDraft, readRoll, rollDefaults, seconds, stepsOf } from './roll';

const draft = (more: Partial<RollDraft> = {}): RollDraft => ({ ...rollDefaults('restart'), ...more });

test('the defaults are those of muster update --roll', () => {
  assert.deepEqual(readRoll(rollDefaults('update'), 'update'), {
    options: { canary: 1, batch_size: '10%', pause_secs: 0, gate: 'up:10s', max_failures: 0, revert: true },
    wrong: [],
  });
});

test('a stop has no gate, and what is not an update is never taken back', () => {
  const { options } = readRoll({ ...rollDefaults('stop'), gate: 'up', revert: true }, 'stop');
  assert.equal(options.gate, undefined);
  assert.equal(options.revert, undefined);
});

test('all settings are read as the command line reads them', () => {
  const { options, wrong } = readRoll(
    draft({
      canary: '2',
      batch: '25',
      pause: '2m',
      gate: 'ready',
      steady: '1h',
      failures: '3',
      order: 'label',
      key: ' zone ',
      isolation: 'host',
      ignore: '117, 828',
    }),
    'restart',
  );
  assert.deepEqual(wrong, []);
  assert.deepEqual(options, {
    canary: 2,
    batch_size: 25,
    pause_secs: 120,
    gate: 'ready:3600s',
    max_failures: 3,
    order: 'label:zone',
    isolation: 'host',
    ignore_error_codes: [117, 828],
  });
});

test('an empty field leaves its option out', () => {
  const empty = draft({ canary: '', batch: ' ', pause: '', gate: 'none', failures: '' });
  assert.deepEqual(readRoll(empty, 'restart'), { options: {}, wrong: [] });
});

test('each field that cannot be read is named', () => {
  const cases: [Partial<RollDraft>, string][] = [
    [{ canary: '0' }, 'canary'],
    [{ canary: '10%' }, 'canary'],
    [{ batch: '0' }, 'batch'],
    [{ batch: '101%' }, 'batch'],
    [{ batch: 'all' }, 'batch'],
    [{ pause: 'soon' }, 'pause'],
    [{ pause: '2d' }, 'pause'],
    [{ gate: 'up', steady: '' }, 'steady'],
    [{ gate: 'up', steady: '0s' }, 'steady'],
    [{ failures: '-1' }, 'failures'],
    [{ order: 'label', key: '' }, 'key'],
    [{ ignore: 'away' }, 'ignore'],
  ];
  for (const [more, field] of cases) assert.deepEqual(readRoll(draft(more), 'restart').wrong, [field], field);
});

test('times are read with and without a unit', () => {
  assert.deepEqual(['90', '90s', '5m', '2h', '1d', '1w', '', '-3'].map(seconds), [
    90,
    90,
    300,
    7200,
    86_400,
    null,
    null,
    null,
  ]);
});

test('steps are counted as the server counts them', () => {
  assert.deepEqual(stepsOf({ canary: 1, batch_size: 250 }, 1000), { canary: 1, size: 250, batches: 4, atLeast: 0 });
  assert.deepEqual(stepsOf({ canary: 1, batch_size: '10%', gate: 'up:10s', pause_secs: 5 }, 12), {
    canary: 1,
    size: 2,
    batches: 6,
    atLeast: 7 * 10 + 6 * 5,
  });
  assert.deepEqual(stepsOf({}, 40), { canary: 0, size: 40, batches: 1, atLeast: 0 });
  assert.deepEqual(stepsOf({ canary: 5, batch_size: 1 }, 3), { canary: 3, size: 0, batches: 0, atLeast: 0 });
});
