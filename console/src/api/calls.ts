/** The requests that more than one page makes. A request that only one page makes stands in that page's folder. */
import { segment } from '../url/codec';
import { call, get, post, type Query } from './client';
import type {
  Accepted,
  EventRow,
  Facets,
  Found,
  OperateQuery,
  Plan,
  ProcessDetail,
  ProcessFilter,
  ProcessPage,
  ProcessVersion,
  Summary,
  Target,
  TaskDetail,
  TaskRow,
  WhoAmI,
  Why,
} from './types';

const of = (process: string) => process.split('/').map(segment).join('/');

export const whoAmI = (signal?: AbortSignal) => get<WhoAmI>('/whoami', {}, signal);

/** The answer carries a token for programs. It is dropped here: the cookie is enough. */
export async function login(username: string, password: string): Promise<WhoAmI> {
  await call('POST', '/login', { body: { username, password }, anonymous: true });
  return await call<WhoAmI>('GET', '/whoami', { anonymous: true });
}

/** With the code of a one-time link. */
export async function loginByCode(code: string): Promise<WhoAmI> {
  await call('POST', '/login', { body: { code }, anonymous: true });
  return await call<WhoAmI>('GET', '/whoami', { anonymous: true });
}

export const logout = () => call<void>('POST', '/logout', { body: {}, anonymous: true });

export const processes = (filter: ProcessFilter, page: Query, signal?: AbortSignal) =>
  get<ProcessPage>('/processes', { ...(filter as Query), ...page }, signal);

export const facets = (by: string[], filter: ProcessFilter, signal?: AbortSignal) =>
  get<Facets>('/processes/facets', { by: by.join(','), ...(filter as Query) }, signal);

export const process = (name: string, page: Query, signal?: AbortSignal) =>
  get<ProcessDetail>(`/processes/${of(name)}`, page, signal);

export const versions = (name: string, signal?: AbortSignal) =>
  get<{ versions: ProcessVersion[] }>(`/processes/${of(name)}/versions`, {}, signal);

export const why = (name: string, host: string, signal?: AbortSignal) =>
  get<Why>(`/processes/${of(name)}/why`, { host }, signal);

export const summary = (signal?: AbortSignal) => get<Summary>('/summary', {}, signal);

export const plan = (query: OperateQuery) => post<Plan>('/operate', { ...query, dry_run: true });

export const operate = (query: OperateQuery) => post<Accepted>('/operate', query);

export const task = (id: string, query: Query, signal?: AbortSignal) =>
  get<TaskDetail & { results: Target[] }>(`/tasks/${segment(id)}`, query, signal);

export const tasks = (query: Query, signal?: AbortSignal) =>
  get<{ tasks: TaskRow[]; next: string | null }>('/tasks', query, signal);

export const events = (query: Query, signal?: AbortSignal) =>
  get<{ events: EventRow[]; next: number | null }>('/events', query, signal);

export const search = (q: string, signal?: AbortSignal) => get<Found>('/search', { q, limit: 8 }, signal);
