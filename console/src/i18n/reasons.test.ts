import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { afterEach, test } from 'node:test';
import type { Difference } from '../business/api';
import { byKind } from '../pages/topology/lines';
import { language } from './i18n';
import { type Meaning, meaningText, sentence } from './reasons';

afterEach(() => {
  language.value = 'en';
});

const chinese = /[\u4e00-\u9fff]/;

/** The codes that a file of the server makes. */
function codesIn(path: string, pattern: RegExp): string[] {
  const text = readFileSync(`../crates/${path}`, 'utf8');
  return [...text.matchAll(pattern)].map(found => found[1] as string);
}

test('English shows the text of the server, and so does an unknown code', () => {
  const known = { code: 'unclosed_bracket', params: {} };
  assert.equal(sentence(known, 'a bracket is not closed'), 'a bracket is not closed');
  language.value = 'zh';
  assert.match(sentence(known, 'a bracket is not closed'), chinese);
  assert.equal(sentence({ code: 'later', params: {} }, 'something new'), 'something new');
  assert.equal(sentence(null, 'text'), 'text');
});

test('every code of the server has a Chinese sentence', () => {
  language.value = 'zh';
  const made = /(?:Reason::new\(|coded\()"(\w+)"/g;
  const expression = codesIn('model/src/expression/error.rs', made);
  const faults = codesIn('control/src/topology/fault.rs', made);
  const held = codesIn('control/src/sessions/held.rs', /differs\(\s*"(\w+)"/g);
  const template = ['error.rs', 'include.rs', 'mako/parse.rs', 'mako/segment.rs', 'python/parser.rs', 'run/index.rs']
    .flatMap(file => codesIn(`template/src/${file}`, made))
    .concat(codesIn('template/src/error.rs', /=> "(\w+)",/g))
    .map(code => `template_${code}`);
  assert.ok(expression.length > 10 && faults.length > 3 && held.length > 8 && template.length > 12);
  for (const code of [...expression, ...faults, ...held, ...template])
    assert.match(sentence({ code, params: {} }, 'text'), chinese, code);
});

test('every meaning of the server has Chinese words', () => {
  language.value = 'zh';
  const codes = codesIn('model/src/expression/explain.rs', /(?:Reason::new\(|\{ )"(\w+)"/g);
  const some: Meaning[] = codes.map(code => ({ code, params: {}, items: [] }));
  assert.ok(some.length > 20);
  for (const one of some) assert.notEqual(meaningText(one, 'words'), 'words', one.code);
});

test('parameters stand in the sentence', () => {
  language.value = 'zh';
  const reversed = { code: 'reversed_range', params: { from: '3', to: '1' } };
  assert.equal(sentence(reversed, ''), '范围 3-1 的顺序反了：请写 1-3');
  const undefinedName = { code: 'template_undefined', params: { template: 'nginx', line: '3', name: 'port' } };
  assert.equal(sentence(undefinedName, ''), 'nginx 第 3 行：未知变量“port”');
  const text = (word: string): Meaning => ({ code: 'text', params: { text: word }, items: [] });
  const meaning = { code: 'one_of', params: {}, items: [text('nginx'), text('redis')] };
  assert.equal(meaningText(meaning, ''), '其中之一：“nginx”、“redis”');
});

test('a meaning with an unknown part shows the words of the server', () => {
  language.value = 'zh';
  const later = { code: 'later', params: {}, items: [] };
  assert.equal(meaningText({ code: 'sequence', params: {}, items: [later] }, 'words'), 'words');
});

test('lines of a difference are made from their codes', () => {
  const difference: Pick<Difference, 'lines' | 'changes'> = {
    lines: ['+ host 0:10.0.0.1, which was 0:10.0.0.2', '! process 7 nginx still runs: shown until it is stopped'],
    changes: [
      { mark: '+', code: 'host_moved', params: { host: '0:10.0.0.1', before: '0:10.0.0.2' } },
      { mark: '!', code: 'still_runs', params: { id: '7', name: 'nginx' } },
    ],
  };
  assert.equal(byKind(difference)[0]?.lines[0]?.text, '0:10.0.0.1, which was 0:10.0.0.2');
  language.value = 'zh';
  const groups = byKind(difference);
  assert.deepEqual(
    groups.map(group => [group.kind, group.lines[0]?.mark, group.lines[0]?.text]),
    [
      ['host', '+', '0:10.0.0.1，之前是 0:10.0.0.2'],
      ['process', '!', '7 nginx 仍在运行：停止之前保持显示'],
    ],
  );
});
