/**
 * One function for all requests to /api/v1. The cookie of the login goes along by itself; the console keeps no token.
 * A 401 opens the login over the page; the request waits for it and is sent once more, because a refused request has done nothing.
 */
import { queryString } from '../url/codec';
import { ApiError } from './errors';
import { loginAgain } from './session';

export type QueryValue = string | number | boolean | null | undefined | readonly (string | number)[];
export type Query = Record<string, QueryValue>;

export interface CallOptions {
  query?: Query | undefined;
  body?: unknown;
  signal?: AbortSignal | undefined;
  /** A refused login is the answer, not a reason to ask for one. */
  anonymous?: boolean;
}

export async function call<T>(method: string, path: string, options: CallOptions = {}): Promise<T> {
  const response = await send(method, path, options);
  if (response.status === 204) return undefined as T;
  const type = response.headers.get('content-type') ?? '';
  return (type.includes('json') ? await response.json() : await response.text()) as T;
}

export const get = <T>(path: string, query?: Query, signal?: AbortSignal) => call<T>('GET', path, { query, signal });
export const post = <T>(path: string, body: unknown = {}) => call<T>('POST', path, { body });

/** The response, for streams. Refusals are thrown. */
export async function send(method: string, path: string, options: CallOptions = {}): Promise<Response> {
  const url = `/api/v1${path}${queryOf(options.query)}`;
  const request = async () => {
    try {
      return await fetch(url, {
        method,
        signal: options.signal ?? null,
        credentials: 'same-origin',
        headers: options.body === undefined ? {} : { 'content-type': 'application/json' },
        body: options.body === undefined ? null : JSON.stringify(options.body),
      });
    } catch (error) {
      if (options.signal?.aborted) throw error;
      throw new ApiError(0, { code: 'unreachable', message: '' });
    }
  };
  let response = await request();
  if (response.status === 401 && !options.anonymous) {
    await loginAgain(options.signal);
    response = await request();
  }
  if (!response.ok) throw await refusal(response);
  return response;
}

async function refusal(response: Response): Promise<ApiError> {
  const detail = await response
    .json()
    .then(body => body?.error ?? {})
    .catch(() => ({}));
  return new ApiError(response.status, detail, response.headers);
}

export function queryOf(query: Query = {}): string {
  return queryString(
    Object.entries(query).flatMap(([key, value]): [string, string][] => {
      if (value === undefined || value === null || value === '') return [];
      // Repeated, so that a value may have commas.
      if (Array.isArray(value)) return value.map((one): [string, string] => [key, String(one)]);
      return [[key, String(value)]];
    }),
  );
}
