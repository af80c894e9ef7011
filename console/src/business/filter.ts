/** The filter of the process view: what stands in the address, what the API gets, and what a line of text means. Pure. */

import { type Chip, type FilterSpec, readAddresses } from '../filter/spec';
import { envWord, stateWord } from '../i18n/common';
import { PROCESS_STATES } from '../process/states';
import { choice, codec, flag, list, repeated, text } from '../url/codec';
import type { ViewFilter } from './api';
import { t } from './strings';

export interface ViewState {
  env: string;
  set: string[];
  module: string[];
  service: string[];
  name: string[];
  id: string[];
  expr: string;
  status: string[];
  state: string[];
  managed: boolean | null;
  connected: boolean | null;
  ip: string[];
  cloud: string[];
  q: string;
  sort: string;
  cols: string[];
  /** Processes whose instances are shown. */
  expand: string[];
  open: string;
}

const SELECTION = {
  env: choice(['', 'test', 'experience', 'formal'], ''),
  set: list(),
  module: list(),
  service: list(),
  name: repeated(),
  id: list(),
  expr: text(),
  status: list(),
  state: list(),
  managed: flag(),
  connected: flag(),
  ip: list(),
  cloud: list(),
  q: text(),
};

export type SelectionState = Omit<ViewState, 'sort' | 'cols' | 'expand' | 'open'>;

/** What is selected, without how it is shown: for the address of a release. */
export const selectionState = codec<SelectionState>(SELECTION as never);

export const viewState = codec<ViewState>({
  ...(SELECTION as never as { [K in keyof SelectionState]: import('../url/codec').Param<SelectionState[K]> }),
  sort: text(),
  cols: list(),
  expand: list(),
  open: text(),
});

export type ViewDimension = keyof SelectionState;

export const VIEW_DIMENSIONS: ViewDimension[] = [
  'env',
  'set',
  'module',
  'service',
  'name',
  'id',
  'expr',
  'status',
  'state',
  'managed',
  'connected',
  'ip',
  'cloud',
  'q',
];

export const NO_VIEW_FILTER: Partial<SelectionState> = {
  env: '',
  set: [],
  module: [],
  service: [],
  name: [],
  id: [],
  expr: '',
  status: [],
  state: [],
  managed: null,
  connected: null,
  ip: [],
  cloud: [],
  q: '',
};

/** An expression takes the place of the five parts. */
export const NO_PARTS = { set: [], module: [], service: [], name: [], id: [] };

export function toViewFilter(state: SelectionState): ViewFilter {
  const filter: ViewFilter = {};
  if (state.env) filter.env = state.env;
  if (state.expr) filter.expr = state.expr;
  else
    for (const part of ['set', 'module', 'service', 'name', 'id'] as const)
      if (state[part].length > 0) filter[part] = state[part];
  if (state.status.length) filter.status = state.status;
  if (state.state.length) filter.state = state.state;
  if (state.managed !== null) filter.managed = state.managed;
  if (state.connected !== null) filter.connected = state.connected;
  if (state.ip.length) filter.ip = state.ip;
  if (state.cloud.length) filter.cloud = state.cloud;
  if (state.q) filter.search = state.q;
  return filter;
}

/** A name as it stands in an expression. */
export const escapeName = (name: string) => name.replace(/[\\[\]*?.,!，、]/g, '\\$&');

const part = (names: string[]) =>
  names.length === 0 ? '*' : names.length === 1 ? escapeName(names[0]!) : `[${names.map(escapeName).join(',')}]`;

/** The expression that selects what the parts of the filter do, given the names of their ids. */
export function toExpression(names: {
  set: string[];
  module: string[];
  service: string[];
  name: string[];
  id: string[];
}) {
  const parts = [names.set, names.module, names.service, names.name, names.id].map(part);
  while (parts.length > 1 && parts[parts.length - 1] === '*') parts.pop();
  return parts.join('.');
}

const WORDS: Record<string, ViewDimension> = {
  environment: 'env',
  process: 'name',
  host: 'ip',
  agent: 'connected',
  expression: 'expr',
  text: 'q',
};

const FIXED: Partial<Record<ViewDimension, string[]>> = {
  env: ['test', 'experience', 'formal'],
  status: ['running', 'stopped', 'unregistered'],
  state: PROCESS_STATES,
  managed: ['true', 'false'],
  connected: ['true', 'false'],
};

function add(state: SelectionState, dimension: ViewDimension, value: string): Partial<SelectionState> {
  const before: unknown = state[dimension];
  // A part of the five ends an expression.
  const end = dimension in NO_PARTS ? { expr: '' } : {};
  if (Array.isArray(before)) return { ...end, [dimension]: before.includes(value) ? before : [...before, value] };
  if (dimension === 'managed' || dimension === 'connected') return { [dimension]: /^(true|yes|1)$/i.test(value) };
  if (dimension === 'expr') return { ...NO_PARTS, expr: value };
  if (dimension === 'q') return { q: [state.q, value].filter(Boolean).join(' ') };
  return { [dimension]: value };
}

function remove(state: SelectionState, { dimension, value }: Chip<ViewDimension>): Partial<SelectionState> {
  const before: unknown = state[dimension];
  if (Array.isArray(before)) return { [dimension]: before.filter(one => one !== value) };
  return { [dimension]: dimension === 'managed' || dimension === 'connected' ? null : '' };
}

function chips(state: SelectionState): Chip<ViewDimension>[] {
  return VIEW_DIMENSIONS.flatMap(dimension => {
    // The expression has a field of its own.
    if (dimension === 'expr') return [];
    const value = state[dimension];
    if (Array.isArray(value)) return value.map(one => ({ dimension, value: one }));
    return value === null || value === '' ? [] : [{ dimension, value: String(value) }];
  });
}

/** Cloud and address of the process view are two filters. */
function addresses(state: SelectionState, text: string) {
  const found = readAddresses(text);
  if (!found) return null;
  const ips = found.map(one => one.replace(/^\d+:(?=\d+\.)/, ''));
  return { found: found.length, patch: { ip: [...new Set([...state.ip, ...ips])] } };
}

function word(dimension: ViewDimension, value: string, name?: string | null): string {
  const words = t();
  if (dimension === 'state' || dimension === 'status') return stateWord(value);
  if (dimension === 'env') return envWord(value);
  if (dimension === 'managed') return value === 'true' ? words.yes : words.no;
  if (dimension === 'connected') return value === 'true' ? words.connected : words.away;
  return name || value;
}

export const VIEW_SPEC: FilterSpec<ViewState, ViewDimension> = {
  dimensions: VIEW_DIMENSIONS,
  chips,
  add,
  remove,
  has(state, dimension, value) {
    const now: unknown = state[dimension];
    return Array.isArray(now) ? now.includes(value) : now !== null && now !== '' && String(now) === value;
  },
  readToken(typed) {
    const colon = typed.indexOf(':');
    if (colon < 1) return null;
    const key = typed.slice(0, colon).trim().toLowerCase();
    const dimension = WORDS[key] ?? VIEW_DIMENSIONS.find(one => one === key);
    return dimension ? { dimension, value: typed.slice(colon + 1).trim() } : null;
  },
  addresses,
  facet: dimension =>
    ['env', 'set', 'module', 'service', 'name', 'status', 'state', 'managed', 'connected', 'cloud'].find(
      one => one === dimension,
    ),
  fixed: dimension => FIXED[dimension] ?? [],
  quick: ['set', 'module', 'name', 'service', 'state', 'status'],
  text: 'q',
  none: NO_VIEW_FILTER,
  title: dimension => t().dims[dimension],
  word,
};
