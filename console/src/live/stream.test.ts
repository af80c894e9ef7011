import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import type { Change } from './changes';
import { type LiveState, LiveStream } from './stream';

const realFetch = globalThis.fetch;
afterEach(() => {
  globalThis.fetch = realFetch;
});

/** Answers the requests in turn, and records what they asked for. */
function serve(answers: (() => Response | Promise<Response>)[]) {
  const asked: { url: string; lastId: string | null }[] = [];
  globalThis.fetch = (async (url: string, options: RequestInit) => {
    asked.push({ url, lastId: new Headers(options.headers).get('last-event-id') });
    const answer = answers[asked.length - 1];
    if (!answer) return new Promise<Response>(() => {});
    return answer();
  }) as typeof fetch;
  return asked;
}

const events = (text: string) => () =>
  new Response(text, { status: 200, headers: { 'content-type': 'text/event-stream' } });
const refused =
  (status: number, headers: Record<string, string> = {}) =>
  () =>
    new Response('{}', { status, headers });

function open() {
  const seen = { states: [] as LiveState[], changes: [] as Change[], missed: 0 };
  const stream = new LiveStream({
    changes: changes => seen.changes.push(...changes),
    missed: () => {
      seen.missed++;
    },
    state: state => seen.states.push(state),
  });
  stream.open();
  return { stream, seen };
}

async function until(test: () => boolean) {
  while (!test()) await new Promise(resolve => setTimeout(resolve, 5));
}

test('a stream that ends is opened again where it was, and nothing was missed', async () => {
  const asked = serve([
    events('id: 7\nevent: changes\ndata: {"changes":[{"kind":"agent","host":"0:10.0.0.1","connected":true}]}\n\n'),
    events(': watching\n\n'),
  ]);
  const { stream, seen } = open();
  await until(() => asked.length >= 2 && seen.states.filter(state => state === 'live').length === 2);
  stream.close();
  assert.equal(asked[1]?.lastId, '7');
  assert.deepEqual(seen.changes, [{ kind: 'agent', host: '0:10.0.0.1', connected: true }]);
  assert.equal(seen.missed, 0);
  assert.deepEqual(seen.states.slice(0, 3), ['connecting', 'live', 'reconnecting']);
});

test('without an id, and when the server says so, changes were missed', async () => {
  const asked = serve([events(': watching\n\n'), events(': watching\n\nevent: lagged\ndata: {"missed":null}\n\n')]);
  const { stream, seen } = open();
  await until(() => asked.length >= 2 && seen.missed >= 2);
  stream.close();
  assert.equal(seen.missed, 2);
});

test('a login that ended stops the stream until it is told to go on', async () => {
  const asked = serve([refused(401), events(': watching\n\n')]);
  const { stream, seen } = open();
  await until(() => seen.states.includes('signed-out'));
  await new Promise(resolve => setTimeout(resolve, 700));
  assert.equal(asked.length, 1, 'it does not try by itself');
  stream.again();
  await until(() => seen.states.includes('live'));
  stream.close();
});

test('a server that goes down is named', async () => {
  serve([refused(503, { 'retry-after': '5' })]);
  const { stream, seen } = open();
  await until(() => seen.states.includes('stopping'));
  stream.close();
});
