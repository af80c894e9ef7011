/** Reads the output of a process as it is written: one JSON object on each line. */
import { send } from '../api/client';
import type { LogPiece } from '../api/types';
import { segment } from '../url/codec';

export interface FollowOptions {
  process: string;
  host: string;
  previous: boolean;
  follow: boolean;
  tail: number;
}

export interface FollowEvents {
  text(text: string): void;
  /** Why it ended early; empty when there is no more. */
  end(why: string): void;
}

export function logPath(process: string): string {
  return `/processes/${process.split('/').map(segment).join('/')}/logs`;
}

export async function followLog(options: FollowOptions, events: FollowEvents, signal: AbortSignal) {
  const { process, host, previous, follow, tail } = options;
  const query = {
    host,
    tail,
    format: 'json',
    ...(previous ? { previous: true } : {}),
    ...(follow && !previous ? { follow: true } : {}),
  };
  const response = await send('GET', logPath(process), { query, signal });
  if (!response.body) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    const lines = (rest + value).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line === '') continue;
      const piece = JSON.parse(line) as LogPiece;
      const text = pieceText(piece);
      if (text) events.text(text);
      if (piece.end) {
        events.end(piece.end);
        return;
      }
    }
  }
  events.end('');
}

/** What is no UTF-8 is shown as Latin-1, so that nothing is lost. */
export function pieceText(piece: LogPiece): string {
  if (piece.text !== undefined && piece.text !== null) return piece.text;
  return piece.base64 ? atob(piece.base64) : '';
}
