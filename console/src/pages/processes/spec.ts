/** The filter of the list, for the line of chips and the panel of counts. */

import type { FilterSpec } from '../../filter/spec';
import { readAddresses } from '../../filter/spec';
import { envWord, stateWord } from '../../i18n/common';
import { PROCESS_STATES } from '../../process/states';
import {
  addValue,
  chipsOf,
  DIMENSIONS,
  type Dimension,
  FACETS,
  hasValue,
  type ListState,
  NO_FILTER,
  readToken,
  removeValue,
} from './filter';
import { t } from './strings';

/** In the panel. */
export const SHOWN: Dimension[] = [
  'state',
  'ns',
  'business',
  'env',
  'wanted',
  'managed',
  'connected',
  'cloud',
  'version',
];

const FIXED: Partial<Record<Dimension, string[]>> = {
  state: PROCESS_STATES,
  wanted: ['running', 'stopped'],
  managed: ['true', 'false'],
  connected: ['true', 'false'],
  restart: ['true', 'false'],
  env: ['test', 'experience', 'formal'],
};

export const SPEC: FilterSpec<ListState, Dimension> = {
  dimensions: DIMENSIONS,
  chips: chipsOf,
  add: addValue,
  remove: removeValue,
  has: hasValue,
  readToken,
  addresses(state, text) {
    const found = readAddresses(text);
    return found && { found: found.length, patch: { host: [...new Set([...state.host, ...found])] } };
  },
  facet: dimension => FACETS[dimension],
  fixed: dimension => FIXED[dimension] ?? [],
  quick: ['state', 'ns', 'name', 'business', 'version'],
  text: 'q',
  none: NO_FILTER,
  title: dimension => t().dims[dimension],
  word: valueWord,
};

function valueWord(dimension: Dimension, value: string, name?: string | null): string {
  const words = t();
  if (dimension === 'state') return stateWord(value);
  if (dimension === 'env') return envWord(value);
  if (dimension === 'managed' || dimension === 'restart') return value === 'true' ? words.yes : words.no;
  if (dimension === 'connected') return value === 'true' ? words.connected : words.away;
  if (dimension === 'wanted') return value === 'running' ? words.wanted.running : words.wanted.stopped;
  return name ? `${name} (${value})` : value;
}
