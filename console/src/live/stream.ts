/** One connection to /api/v1/watch that comes back by itself and goes on where it was. Runs in the worker, or in the tab without one. */
import { retryAfter } from '../api/errors';
import { backoff } from './backoff';
import type { Change, Kind } from './changes';
import { SseParser } from './sse';

/** `stopping`: the server says that it goes down. `signed-out`: nothing is tried until a login. */
export type LiveState = 'connecting' | 'live' | 'reconnecting' | 'stopping' | 'signed-out';

export interface StreamEvents {
  changes(changes: Change[]): void;
  /** Changes may be missing: ask again for what is shown. */
  missed(): void;
  state(state: LiveState): void;
}

/** Named, because a summary is sent only to those who ask for it. */
const KINDS = ['status', 'task', 'job', 'event', 'agent', 'summary', 'registration', 'topology', 'template'];
const EVERY = '250ms';
/** The server sends a comment every 15 s; a connection that is silent for longer is dead. */
const SILENCE_MS = 40_000;

export class LiveStream {
  private abort: AbortController | null = null;
  private attempt = 0;
  private lastId: string | null = null;
  private wasLive = false;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly events: StreamEvents) {}

  open() {
    if (this.abort || this.timer !== undefined) return;
    void this.connect();
  }

  close() {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.abort?.abort();
    this.abort = null;
  }

  /** Connects now: after a login, or when the computer is back on the network. */
  again() {
    this.close();
    this.attempt = 0;
    this.open();
  }

  private async connect() {
    const abort = new AbortController();
    this.abort = abort;
    if (!this.wasLive) this.events.state('connecting');
    let retry: number | null = null;
    let next: LiveState = 'reconnecting';
    let silence: ReturnType<typeof setTimeout> | undefined;
    const heard = () => {
      clearTimeout(silence);
      silence = setTimeout(() => abort.abort(), SILENCE_MS);
    };
    try {
      heard();
      const headers: Record<string, string> = this.lastId === null ? {} : { 'last-event-id': this.lastId };
      const response = await fetch(`/api/v1/watch?every=${EVERY}&kinds=${KINDS.join(',')}`, {
        signal: abort.signal,
        headers,
        credentials: 'same-origin',
      });
      if (response.status === 401) next = 'signed-out';
      else if (response.status === 503) next = 'stopping';
      retry = retryAfter(response.headers.get('retry-after'));
      if (response.ok && response.body) await this.read(response.body, heard);
      else await response.body?.cancel();
    } catch {
      // Unreachable, broken off or closed: the state below says so.
    }
    clearTimeout(silence);
    if (this.abort !== abort) return;
    this.abort = null;
    this.events.state(next);
    if (next === 'signed-out') {
      this.lastId = null;
      return;
    }
    const wait = backoff(this.attempt++, Math.random(), retry);
    this.timer = setTimeout(() => {
      this.timer = undefined;
      void this.connect();
    }, wait);
  }

  private async read(body: ReadableStream<Uint8Array>, heard: () => void) {
    const parser = new SseParser();
    const reader = body.getReader();
    let first = true;
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      heard();
      if (first) {
        first = false;
        this.attempt = 0;
        this.events.state('live');
        // Without an id to go on from, what happened in between is unknown.
        if (this.wasLive && this.lastId === null) this.events.missed();
        this.wasLive = true;
      }
      const changes: Change[] = [];
      for (const event of parser.push(value)) {
        if (event.id !== null && event.id !== '') this.lastId = event.id;
        if (event.event === 'lagged') this.events.missed();
        else changes.push(...readChanges(event.event, event.data));
      }
      if (changes.length > 0) this.events.changes(changes);
    }
  }
}

/** A batch is `changes`; without batches the name of an event is its kind. */
export function readChanges(event: string, data: string): Change[] {
  try {
    const value = JSON.parse(data);
    if (event === 'changes')
      return (value.changes as Record<string, unknown>[]).map(one => readChange(String(one.kind), one));
    return [readChange(event, value)];
  } catch {
    return [];
  }
}

function readChange(kind: string, value: Record<string, unknown>): Change {
  // The row of an event has a kind of its own, such as process_exit.
  if (kind === 'event' || !KINDS.includes(kind)) return { kind: 'event', event: value.event ?? value } as Change;
  return { ...value, kind: kind as Kind } as Change;
}
