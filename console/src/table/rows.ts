/** The rows of a table: pages of 200, loaded where the table looks, patched by live changes, never reordered by them. */
import { batch, signal } from '@preact/signals';
import { isAbort } from '../api/errors';

export const PAGE = 200;
/** Pages that are kept: 4,800 rows. */
const MOST_PAGES = 24;
/** Rows before the end of a page at which the next one is asked for. */
const AHEAD = 40;
/** A jump over more rows than this is a drag of the scrollbar: wait until it rests. Wheel and keys move by a screen at most. */
const DRAGGED = 60;
const REST_MS = 90;

export interface RowPage<T> {
  count: number;
  rows: T[];
}

export type LoadRows<T> = (start: number, limit: number, signal: AbortSignal) => Promise<RowPage<T>>;

/** What a table needs of its rows. */
export type RowSource<T> = Pick<
  Rows<T>,
  'count' | 'version' | 'error' | 'loading' | 'row' | 'keys' | 'keyOf' | 'show' | 'reload'
>;

export class Rows<T> {
  /** How many match; null until the first answer. */
  readonly count = signal<number | null>(null);
  /** Rises when a row has changed. */
  readonly version = signal(0);
  readonly error = signal<Error | null>(null);
  /** A page that is shown is being loaded. */
  readonly loading = signal(true);

  private pages = new Map<number, { rows: T[]; fresh: boolean }>();
  private places = new Map<string, number>();
  private flying = new Map<number, AbortController>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private first = 0;
  private end = 1;

  constructor(
    private load: LoadRows<T>,
    readonly keyOf: (row: T) => string,
  ) {}

  row(index: number): T | undefined {
    return this.pages.get(Math.floor(index / PAGE))?.rows[index % PAGE];
  }

  indexOf(key: string): number | undefined {
    return this.places.get(key);
  }

  /** The keys of these rows as far as they are loaded. */
  keys(first: number, end: number): string[] {
    const keys: string[] = [];
    for (let index = first; index < end; index++) {
      const row = this.row(index);
      if (row !== undefined) keys.push(this.keyOf(row));
    }
    return keys;
  }

  /** The table shows these rows now. */
  show(first: number, end: number) {
    const jump = Math.abs(first - this.first);
    this.first = first;
    this.end = Math.max(end, first + 1);
    clearTimeout(this.timer);
    if (this.missing().length === 0) return;
    if (jump > DRAGGED) this.timer = setTimeout(() => this.fetchMissing(), REST_MS);
    else this.fetchMissing();
  }

  /** Another filter or order: what is shown stays until the answer comes. */
  replace(load: LoadRows<T>) {
    this.load = load;
    this.first = 0;
    this.end = 1;
    this.reload();
  }

  reload() {
    clearTimeout(this.timer);
    for (const abort of this.flying.values()) abort.abort();
    this.flying.clear();
    for (const page of this.pages.values()) page.fresh = false;
    this.fetchMissing();
  }

  close() {
    clearTimeout(this.timer);
    for (const abort of this.flying.values()) abort.abort();
    this.flying.clear();
  }

  /** Changes one row in place. Returns whether it is loaded. */
  patch(key: string, change: (row: T) => T): boolean {
    const index = this.places.get(key);
    const row = index === undefined ? undefined : this.row(index);
    if (index === undefined || row === undefined) return false;
    const page = this.pages.get(Math.floor(index / PAGE));
    if (page) page.rows[index % PAGE] = change(row);
    this.version.value++;
    return true;
  }

  /** Changes all loaded rows that pass the test. */
  patchWhere(test: (row: T) => boolean, change: (row: T) => T) {
    let changed = false;
    for (const page of this.pages.values()) {
      page.rows.forEach((row, index) => {
        if (!test(row)) return;
        page.rows[index] = change(row);
        changed = true;
      });
    }
    if (changed) this.version.value++;
  }

  private missing(): number[] {
    const last = (this.count.value ?? 1) - 1;
    const from = Math.floor(Math.max(0, this.first - AHEAD) / PAGE);
    const to = Math.floor(Math.min(Math.max(0, last), this.end - 1 + AHEAD) / PAGE);
    const wanted: number[] = [];
    for (let page = from; page <= to; page++)
      if (!this.pages.get(page)?.fresh && !this.flying.has(page)) wanted.push(page);
    return wanted;
  }

  private fetchMissing() {
    for (const [page, abort] of this.flying) {
      if (Math.abs(page - Math.floor(this.first / PAGE)) > 2) {
        abort.abort();
        this.flying.delete(page);
      }
    }
    for (const page of this.missing()) void this.fetch(page);
  }

  private async fetch(page: number) {
    const abort = new AbortController();
    this.flying.set(page, abort);
    this.loading.value = true;
    try {
      const answer = await this.load(page * PAGE, PAGE, abort.signal);
      if (abort.signal.aborted) return;
      batch(() => this.keep(page, answer));
    } catch (error) {
      if (abort.signal.aborted || isAbort(error)) return;
      this.error.value = error as Error;
    } finally {
      if (this.flying.get(page) === abort) this.flying.delete(page);
      this.loading.value = this.flying.size > 0;
    }
  }

  private keep(page: number, answer: RowPage<T>) {
    // Rows of an older filter go once the first page of the new one is there.
    for (const [number, kept] of this.pages)
      if (!kept.fresh && number !== page && !this.flying.has(number)) this.drop(number);
    this.drop(page);
    this.pages.set(page, { rows: answer.rows, fresh: true });
    answer.rows.forEach((row, index) => {
      this.places.set(this.keyOf(row), page * PAGE + index);
    });
    const here = Math.floor(this.first / PAGE);
    const farthest = [...this.pages.keys()].sort((a, b) => Math.abs(b - here) - Math.abs(a - here));
    for (const number of farthest.slice(0, Math.max(0, this.pages.size - MOST_PAGES))) this.drop(number);
    this.error.value = null;
    this.count.value = answer.count;
    this.version.value++;
  }

  private drop(page: number) {
    const kept = this.pages.get(page);
    if (!kept) return;
    kept.rows.forEach((row, index) => {
      if (this.places.get(this.keyOf(row)) === page * PAGE + index) this.places.delete(this.keyOf(row));
    });
    this.pages.delete(page);
  }
}
