/** A refusal of the API, or that it could not be reached. */
import type { Reason } from '../i18n/reasons';

export interface MissingRole {
  role: string;
  namespace?: string | null;
  business?: number | null;
}

export class ApiError extends Error {
  /** 0: no answer at all. */
  readonly status: number;
  readonly code: string;
  readonly requestId: string | null;
  readonly field: string | null;
  /** In an expression, the character that is wrong, from 1. */
  readonly character: number | null;
  /** In a template, the line and the character of it that are wrong, from 1. */
  readonly line: number | null;
  readonly column: number | null;
  /** What the message says, as a code, of an expression or a template that is wrong. */
  readonly reason: Reason | null;
  readonly missingRole: MissingRole | null;
  /** How many processes match now, when a set has moved (`count_changed`). */
  readonly count: number | null;
  readonly retryAfterMs: number | null;

  constructor(status: number, detail: Record<string, unknown>, headers?: Headers) {
    super(typeof detail.message === 'string' ? detail.message : `HTTP ${status}`);
    this.status = status;
    this.code = typeof detail.code === 'string' ? detail.code : '';
    this.requestId = headers?.get('x-bkapi-request-id') ?? null;
    this.field = typeof detail.field === 'string' ? detail.field : null;
    this.character = typeof detail.character === 'number' ? detail.character : null;
    this.line = typeof detail.line === 'number' ? detail.line : null;
    this.column = typeof detail.column === 'number' ? detail.column : null;
    this.reason = (detail.reason as Reason | undefined) ?? null;
    this.missingRole = (detail.missing_role as MissingRole | undefined) ?? null;
    this.count = typeof detail.count === 'number' ? detail.count : null;
    this.retryAfterMs = retryAfter(headers?.get('retry-after') ?? null);
  }
}

/** Seconds, as Muster sends it; a date is not read. */
export function retryAfter(header: string | null): number | null {
  const seconds = header === null || header.trim() === '' ? Number.NaN : Number(header);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : null;
}

/** The server did not answer, or a proxy before it, or it was about to stop. */
export const isAway = (error: unknown) => error instanceof ApiError && [0, 502, 503, 504].includes(error.status);

export const isAbort = (error: unknown) => error instanceof DOMException && error.name === 'AbortError';
