/** Lists that go from one page to the next by a cursor, as rows of a table: the end is known once it is reached. */
import type { LoadRows } from './rows';

export interface CursorPage<T, C> {
  rows: T[];
  /** Null at the end. */
  next: C | null;
}

type LoadPage<T, C> = (cursor: C, limit: number, signal: AbortSignal) => Promise<CursorPage<T, C>>;

/** The table asks for pages of one size; each page remembers where the next one begins, so that it can be loaded again. */
export function byCursor<T, C>(first: C, load: LoadPage<T, C>): LoadRows<T> {
  const cursors: C[] = [first];
  let known = 0;
  const fetch = async (page: number, limit: number, signal: AbortSignal) => {
    const rows: T[] = [];
    let next: C | null = cursors[page] ?? null;
    while (next !== null && rows.length < limit) {
      const answer: CursorPage<T, C> = await load(next, limit - rows.length, signal);
      rows.push(...answer.rows);
      next = answer.next;
    }
    if (next === null) {
      known = page * limit + rows.length;
      cursors.length = page + 1;
    } else {
      cursors[page + 1] = next;
      // One more than is loaded: scrolling there asks for the next page.
      known = Math.max(known, (page + 1) * limit + 1);
    }
    return rows;
  };
  return async (start, limit, signal) => {
    const page = Math.floor(start / limit);
    while (cursors.length <= page) {
      const before = cursors.length;
      await fetch(before - 1, limit, signal);
      if (cursors.length === before) return { count: known, rows: [] };
    }
    const rows = await fetch(page, limit, signal);
    return { count: known, rows };
  };
}
