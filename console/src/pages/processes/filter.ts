/** The filter of the list: what stands in the address, what the API gets, and what a line of text means. Pure. */
import type { Process, ProcessFilter } from '../../api/types';
import { choice, codec, flag, list, repeated, text } from '../../url/codec';

export interface ListState {
  ns: string[];
  name: string[];
  host: string[];
  process: string[];
  label: string;
  state: string[];
  wanted: '' | 'running' | 'stopped';
  managed: boolean | null;
  connected: boolean | null;
  restart: boolean | null;
  business: string[];
  env: string[];
  cloud: string[];
  version: string[];
  q: string;
  sort: string;
  cols: string[];
  open: string;
}

export const listState = codec<ListState>({
  ns: list(),
  name: list(),
  host: list(),
  process: repeated(),
  label: text(),
  state: list(),
  wanted: choice(['', 'running', 'stopped'], ''),
  managed: flag(),
  connected: flag(),
  restart: flag(),
  business: list(),
  env: list(),
  cloud: list(),
  version: list(),
  q: text(),
  sort: text(),
  cols: list(),
  open: text(),
});

export type Dimension = Exclude<keyof ListState, 'sort' | 'cols' | 'open'>;

/** In the order of chips. */
export const DIMENSIONS: Dimension[] = [
  'ns',
  'name',
  'process',
  'host',
  'state',
  'wanted',
  'managed',
  'connected',
  'restart',
  'label',
  'business',
  'env',
  'cloud',
  'version',
  'q',
];

/** Facets of the API by dimension. */
export const FACETS: Partial<Record<Dimension, string>> = {
  state: 'state',
  ns: 'namespace',
  name: 'name',
  business: 'business',
  env: 'env',
  wanted: 'wanted',
  managed: 'managed',
  connected: 'connected',
  cloud: 'cloud',
  version: 'version',
};

export const NO_FILTER: Partial<ListState> = {
  ns: [],
  name: [],
  host: [],
  process: [],
  label: '',
  state: [],
  wanted: '',
  managed: null,
  connected: null,
  restart: null,
  business: [],
  env: [],
  cloud: [],
  version: [],
  q: '',
};

export function toFilter(state: ListState): ProcessFilter {
  const filter: ProcessFilter = {};
  if (state.ns.length) filter.namespace = state.ns;
  if (state.name.length) filter.name = state.name;
  if (state.host.length) filter.host = state.host;
  if (state.process.length) filter.process = state.process;
  if (state.label) filter.label = state.label;
  if (state.state.length) filter.state = state.state;
  if (state.wanted) filter.wanted = state.wanted;
  if (state.managed !== null) filter.managed = state.managed;
  if (state.connected !== null) filter.connected = state.connected;
  if (state.restart !== null) filter.restart_needed = state.restart;
  if (state.business.length) filter.business = state.business.map(Number);
  if (state.env.length) filter.env = state.env;
  if (state.cloud.length) filter.cloud = state.cloud.map(Number);
  if (state.version.length) filter.version = state.version;
  if (state.q) filter.q = state.q;
  return filter;
}

export interface Chip {
  dimension: Dimension;
  value: string;
}

/** Each value is a chip of its own, so that it can be removed alone. */
export function chipsOf(state: ListState): Chip[] {
  return DIMENSIONS.flatMap(dimension => {
    const value = state[dimension];
    if (Array.isArray(value)) return value.map(one => ({ dimension, value: one }));
    if (value === null || value === '') return [];
    if (dimension === 'label') return splitLabels(String(value)).map(one => ({ dimension, value: one }));
    return [{ dimension, value: String(value) }];
  });
}

/** Tests of labels are separated by commas; `\,` is a comma of a value. */
export const splitLabels = (label: string): string[] => (label === '' ? [] : (label.match(/(?:\\.|[^,\\])+/g) ?? []));

export function addValue(state: ListState, dimension: Dimension, value: string): Partial<ListState> {
  const before: unknown = state[dimension];
  if (Array.isArray(before)) return { [dimension]: before.includes(value) ? before : [...before, value] };
  if (dimension === 'managed' || dimension === 'connected' || dimension === 'restart')
    return { [dimension]: /^(true|yes|1)$/i.test(value) };
  if (dimension === 'label') {
    const all = splitLabels(state.label);
    return { label: all.includes(value) ? state.label : [...all, value].join(',') };
  }
  if (dimension === 'q') return { q: [state.q, value].filter(Boolean).join(' ') };
  return { [dimension]: value } as Partial<ListState>;
}

export function removeValue(state: ListState, { dimension, value }: Chip): Partial<ListState> {
  const before = state[dimension];
  if (Array.isArray(before)) return { [dimension]: before.filter(one => one !== value) };
  if (dimension === 'label')
    return {
      label: splitLabels(state.label)
        .filter(one => one !== value)
        .join(','),
    };
  if (dimension === 'managed' || dimension === 'connected' || dimension === 'restart') return { [dimension]: null };
  return { [dimension]: '' } as Partial<ListState>;
}

export function hasValue(state: ListState, dimension: Dimension, value: string): boolean {
  const now: unknown = state[dimension];
  return Array.isArray(now) ? now.includes(value) : now !== null && now !== '' && String(now) === value;
}

const WORDS: Record<string, Dimension> = {
  namespace: 'ns',
  agent: 'connected',
  pattern: 'process',
  restart_needed: 'restart',
  text: 'q',
};

/** `state:failed` or `namespace:web`; null for anything else. */
export function readToken(text: string): { dimension: Dimension; value: string } | null {
  const colon = text.indexOf(':');
  if (colon < 1) return null;
  const word = text.slice(0, colon).trim().toLowerCase();
  const dimension = WORDS[word] ?? DIMENSIONS.find(one => one === word);
  return dimension ? { dimension, value: text.slice(colon + 1).trim() } : null;
}

/** Whether a row that changed still matches, as far as a live change can tell. */
export function stillMatches(row: Process, state: ListState): boolean {
  if (state.state.length > 0 && !state.state.includes(row.state)) return false;
  if (state.wanted && row.flag !== state.wanted) return false;
  if (state.managed !== null && row.managed !== state.managed) return false;
  if (state.connected !== null && row.connected !== state.connected) return false;
  return state.restart === null || row.restart_needed === state.restart;
}
