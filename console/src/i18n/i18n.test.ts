import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { t } from './common';
import { bytes, duration, shortDuration } from './format';
import { chooseLanguage } from './i18n';

test('the first language that the browser wants and the console has is chosen', () => {
  assert.equal(chooseLanguage(null, ['fr', 'zh-CN', 'en']), 'zh');
  assert.equal(chooseLanguage(null, ['de']), 'en');
  assert.equal(chooseLanguage('en', ['zh']), 'en');
});

test('the shared texts have the same shape in both languages and none is empty', () => {
  const compare = (en: object, zh: object, at: string) => {
    assert.deepEqual(Object.keys(en).sort(), Object.keys(zh).sort(), at);
    for (const key of Object.keys(en)) {
      const [a, b] = [(en as Record<string, unknown>)[key], (zh as Record<string, unknown>)[key]];
      assert.equal(typeof a, typeof b, `${at}.${key}`);
      if (typeof a === 'object' && a && b) compare(a, b as object, `${at}.${key}`);
      else assert.ok(a && b, `${at}.${key} is empty`);
    }
  };
  compare(t.tables.en, t.tables.zh, 'common');
});

test('each strings file has both languages', () => {
  const pages = join(process.cwd(), 'src');
  for (const file of readdirSync(pages, { recursive: true }).map(String)) {
    if (!file.endsWith('strings.ts')) continue;
    const source = readFileSync(join(pages, file), 'utf8');
    assert.match(source, /defineStrings\(/, file);
    const chinese = source.slice(source.indexOf('zh: {'));
    assert.match(chinese, /[\u4e00-\u9fff]/, `${file} has no Chinese`);
  }
});

test('sizes and durations', () => {
  assert.equal(bytes(0), '0 B');
  assert.equal(bytes(1536), '1.5 KiB');
  assert.equal(duration(0), '0 s');
  assert.equal(duration(52_000), '52 s');
  assert.equal(duration(3_600_000), '1 h');
  assert.equal(duration(90_061_000), '1 d 1 h');
  assert.equal(shortDuration(125_000), '2m');
});
