import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type SseEvent, SseParser } from './sse';

const encode = (text: string) => new TextEncoder().encode(text);

const SAMPLE =
  ': watching\n\nevent: changes\nid: 7\ndata: {"a":\ndata: "中文 🚀"}\n\nevent: lagged\r\ndata: {}\r\n\r\n: alive\n\ndata:x\rid:8\r\r';
const EXPECTED: SseEvent[] = [
  { event: 'changes', data: '{"a":\n"中文 🚀"}', id: '7' },
  { event: 'lagged', data: '{}', id: '7' },
  { event: 'message', data: 'x', id: '8' },
];

test('events are read whole, however the bytes are cut', () => {
  const bytes = encode(`${SAMPLE}\n`);
  for (let size = 1; size <= bytes.length; size++) {
    const parser = new SseParser();
    const found: SseEvent[] = [];
    for (let at = 0; at < bytes.length; at += size) found.push(...parser.push(bytes.slice(at, at + size)));
    assert.deepEqual(found, EXPECTED, `in pieces of ${size}`);
  }
});

test('an event without its empty line is not an event yet', () => {
  assert.deepEqual(new SseParser().push(encode('event: a\ndata: 1\n')), []);
});

test('an event without data is dropped', () => {
  assert.deepEqual(new SseParser().push(encode('event: a\n\n')), []);
});
