/** The addresses of all pages, in one place. */
import { queryString, segment } from './codec';

const BASE = '/ui';

type Query = Record<string, string | number | boolean | null | undefined>;

const withQuery = (path: string, query: Query = {}) =>
  path +
  queryString(
    Object.entries(query).flatMap(([key, value]): [string, string][] =>
      value === undefined || value === null || value === '' ? [] : [[key, String(value)]],
    ),
  );

export const paths = {
  overview: () => `${BASE}/`,
  login: (next?: string) => withQuery(`${BASE}/login`, { next }),
  processes: (query?: Query) => withQuery(`${BASE}/processes`, query),
  /** `process` is `namespace/name`. */
  process: (process: string, query?: Query) =>
    withQuery(`${BASE}/p/${process.split('/').map(segment).join('/')}`, query),
  /** No host is called `edit`: their names have a colon. */
  definition: (process: string, query?: Query) =>
    withQuery(`${BASE}/p/${process.split('/').map(segment).join('/')}/edit`, query),
  instance: (process: string, host: string, query?: Query) =>
    withQuery(`${BASE}/p/${process.split('/').map(segment).join('/')}/${segment(host)}`, query),
  businesses: () => `${BASE}/b`,
  business: (id: number, query?: Query) => withQuery(`${BASE}/b/${id}`, query),
  businessView: (id: number, view: 'templates' | 'release' | 'topology', query?: Query) =>
    withQuery(`${BASE}/b/${id}/${view}`, query),
  template: (business: number, id: number, query?: Query) => withQuery(`${BASE}/b/${business}/templates/${id}`, query),
  hosts: (query?: Query) => withQuery(`${BASE}/hosts`, query),
  host: (host: string, query?: Query) => withQuery(`${BASE}/hosts/${segment(host)}`, query),
  ops: (query?: Query) => withQuery(`${BASE}/ops`, query),
  task: (id: string, query?: Query) => withQuery(`${BASE}/ops/task/${segment(id)}`, query),
  job: (id: number, query?: Query) => withQuery(`${BASE}/ops/job/${id}`, query),
  events: (query?: Query) => withQuery(`${BASE}/events`, query),
  me: () => `${BASE}/me`,
  admin: (section = 'users', query?: Query) => withQuery(`${BASE}/admin/${section}`, query),
};
