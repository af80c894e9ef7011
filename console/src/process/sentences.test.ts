import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { language } from '../i18n/i18n';
import { entryText, eventText, whyText } from './sentences';

afterEach(() => {
  language.value = 'en';
});

const CODES = [
  'running',
  'ready',
  'not_ready',
  'starting',
  'unhealthy',
  'backoff',
  'gave_up',
  'stopped_by',
  'down',
  'not_started',
  'completed',
  'scheduled',
  'not_reported',
  'agent_away',
  'no_agent',
];

test('English shows the text of the server', () => {
  assert.equal(whyText({ code: 'gave_up', params: {}, text: 'the agent gave up' }, ''), 'the agent gave up');
});

test('every code of why has a Chinese sentence, and an unknown one shows the text', () => {
  language.value = 'zh';
  for (const code of CODES) assert.match(whyText({ code, params: {}, text: 'text' }, ''), /[\u4e00-\u9fff]/, code);
  assert.equal(whyText({ code: 'later', params: {}, text: 'something new' }, ''), 'something new');
});

test('parameters and the message of the agent are in the sentence', () => {
  language.value = 'zh';
  assert.equal(
    whyText({ code: 'gave_up', params: { tried: '4', exit: 'exited with code 3' }, text: '' }, ''),
    'Agent 尝试 4 次后放弃：上次退出码 3',
  );
  assert.equal(
    whyText({ code: 'stopped_by', params: { op: 'stop', user: 'ada', from: '10.0.0.9' }, text: '' }, ''),
    '由 ada 停止（停止），来自 10.0.0.9。',
  );
  assert.match(whyText({ code: 'down', params: {}, text: '' }, 'no such table'), /no such table$/);
});

test('entries of the timeline', () => {
  language.value = 'zh';
  const entry = { code: 'restart', params: { hosts: '12' }, text: 'x', kind: 'operation' as const, job_id: 7 };
  assert.equal(entryText(entry), '请求重启（12 台主机），作业 7');
  assert.equal(
    entryText({ ...entry, kind: 'agent', code: 'agent_connected', params: { away_secs: '62' }, job_id: null }),
    'Agent 在 1 分 2 秒后重新连接',
  );
  assert.equal(eventText('process_exit', 'exited with code 3'), '进程退出：exited with code 3');
});
