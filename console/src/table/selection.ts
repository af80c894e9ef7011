/** What is selected: some rows by key, or everything that matches the filter minus exceptions. Immutable. */

export type Selection =
  | { kind: 'keys'; keys: ReadonlySet<string> }
  /** `count`: how many matched when it was made; a request carries it, so that a set that has moved is refused. */
  | { kind: 'query'; count: number; except: ReadonlySet<string> };

export const NOTHING: Selection = { kind: 'keys', keys: new Set() };

export const everything = (count: number): Selection => ({ kind: 'query', count, except: new Set() });

export const isSelected = (selection: Selection, key: string) =>
  selection.kind === 'keys' ? selection.keys.has(key) : !selection.except.has(key);

export const selectedCount = (selection: Selection) =>
  selection.kind === 'keys' ? selection.keys.size : Math.max(0, selection.count - selection.except.size);

/** Selects or unselects these rows. */
export function setSelected(selection: Selection, keys: Iterable<string>, on: boolean): Selection {
  const named = new Set(selection.kind === 'keys' ? selection.keys : selection.except);
  const add = selection.kind === 'keys' ? on : !on;
  for (const key of keys) {
    if (add) named.add(key);
    else named.delete(key);
  }
  if (selection.kind === 'keys') return { kind: 'keys', keys: named };
  return named.size >= selection.count ? NOTHING : { ...selection, except: named };
}

export const toggle = (selection: Selection, key: string) => setSelected(selection, [key], !isSelected(selection, key));

/** The header's box: all of these rows are selected, some, or none. */
export function boxState(selection: Selection, keys: string[]): 'all' | 'some' | 'none' {
  if (selection.kind === 'query') return selection.except.size === 0 ? 'all' : 'some';
  if (selection.keys.size === 0) return 'none';
  return keys.length > 0 && keys.every(key => selection.keys.has(key)) ? 'all' : 'some';
}
