/** What a list says of its filter, so that one line of chips and one panel of counts serve all lists. */
import type { SetState } from '../url/state';

export interface Chip<D extends string = string> {
  dimension: D;
  value: string;
}

export interface FilterSpec<S, D extends string> {
  /** In the order of chips. */
  dimensions: readonly D[];
  chips(state: S): Chip<D>[];
  add(state: S, dimension: D, value: string): Partial<S>;
  remove(state: S, chip: Chip<D>): Partial<S>;
  has(state: S, dimension: D, value: string): boolean;
  /** `state:failed`; null for anything else. */
  readToken(text: string): { dimension: D; value: string } | null;
  /** Several pasted addresses; null when the text is something else. */
  addresses(state: S, text: string): { found: number; patch: Partial<S> } | null;
  /** The word of the API for a facet. */
  facet(dimension: D): string | undefined;
  /** Values that are known without asking. */
  fixed(dimension: D): string[];
  /** Dimensions whose values are offered for any text. */
  quick: readonly D[];
  /** Free text. */
  text: D;
  none: Partial<S>;
  title(dimension: D): string;
  word(dimension: D, value: string, name?: string | null): string;
}

export interface FilterProps<S, D extends string> {
  spec: FilterSpec<S, D>;
  state: S;
  set: SetState<S>;
}

const ADDRESS = /^(?:\d+:)?(?:\d{1,3}(?:\.\d{1,3}){3}|\[?[0-9a-f]*:[0-9a-f:]+\]?)$/i;

/** Addresses out of a pasted list of any form; null when it is something else. */
export function readAddresses(pasted: string): string[] | null {
  const parts = pasted.split(/[\s,;|，；、]+/).filter(Boolean);
  if (parts.length === 0 || !parts.every(part => ADDRESS.test(part))) return null;
  return [...new Set(parts)];
}
