const FIRST_MS = 500;
const LONGEST_MS = 30_000;

/**
 * How long to wait before connecting again: somewhere between half and the whole of a time that doubles to 30 s, so that all
 * browsers do not come back at once. Not earlier than the server asks for.
 */
export function backoff(attempt: number, random: number, retryAfterMs: number | null = null): number {
  const whole = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(attempt, 16));
  const jittered = whole / 2 + (whole / 2) * random;
  return Math.max(jittered, retryAfterMs === null ? 0 : Math.min(retryAfterMs, LONGEST_MS) + jittered);
}
