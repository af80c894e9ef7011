/** The rows of the process view with the instances of some of them below. Pure over `Rows`. */
import { computed, type ReadonlySignal, signal } from '@preact/signals';
import type { RowSource, Rows } from '../table/rows';
import type { Instance, ViewProcess } from './api';

export interface ViewLine {
  row: ViewProcess;
  /** Null for the line of the process itself. */
  instance: Instance | null;
  /** Its instances are shown. */
  open: boolean;
}

export const lineKey = ({ row, instance }: Pick<ViewLine, 'row' | 'instance'>) =>
  instance ? `${row.id}/${instance.local_inst_id}` : String(row.id);

/** Only what is loaded can be open: where it stands is known. */
export class Lines implements RowSource<ViewLine> {
  readonly count: Rows<ViewLine>['count'];
  readonly version: Rows<ViewLine>['version'];
  readonly error: Rows<ViewLine>['error'];
  readonly loading: Rows<ViewLine>['loading'];
  readonly keyOf = lineKey;
  private open = signal<string[]>([]);
  private layout: ReadonlySignal<{ at: number; size: number }[]>;
  private made = new Map<string, { row: ViewProcess; line: ViewLine }>();

  constructor(private rows: Rows<ViewProcess>) {
    this.layout = computed(() => {
      // Rows that load move what is open.
      void rows.version.value;
      return this.open.value
        .flatMap(id => {
          const at = rows.indexOf(id);
          const row = at === undefined ? undefined : rows.row(at);
          return at === undefined || !row ? [] : [{ at, size: row.instances.length }];
        })
        .sort((a, b) => a.at - b.at);
    });
    this.error = rows.error;
    this.loading = rows.loading;
    this.version = rows.version;
    this.count = computed(() =>
      rows.count.value === null ? null : rows.count.value + this.layout.value.reduce((sum, { size }) => sum + size, 0),
    ) as Rows<ViewLine>['count'];
  }

  expand(ids: string[]) {
    if (ids.join() !== this.open.peek().join()) this.open.value = ids;
  }

  /** Which process a line belongs to, and which of its instances it is, from 0; -1 for the process. */
  private place(line: number): { at: number; part: number } {
    let before = 0;
    for (const { at, size } of this.layout.value) {
      const start = at + before;
      if (line <= start) break;
      if (line <= start + size) return { at, part: line - start - 1 };
      before += size;
    }
    return { at: line - before, part: -1 };
  }

  row(index: number): ViewLine | undefined {
    const { at, part } = this.place(index);
    const row = this.rows.row(at);
    if (!row) return undefined;
    const instance = part < 0 ? null : (row.instances[part] ?? null);
    // The same line for the same row, so that it is not drawn again.
    const key = lineKey({ row, instance });
    const made = this.made.get(key);
    const open = part < 0 && this.open.value.includes(String(row.id));
    if (made?.row === row && made.line.open === open) return made.line;
    if (this.made.size > 2000) this.made.clear();
    const line = { row, instance, open };
    this.made.set(key, { row, line });
    return line;
  }

  /** Of processes alone: instances are not selected. */
  keys(first: number, end: number): string[] {
    const keys: string[] = [];
    for (let index = first; index < end; index++) {
      const line = this.row(index);
      if (line && !line.instance) keys.push(lineKey(line));
    }
    return keys;
  }

  show(first: number, end: number) {
    this.rows.show(this.place(first).at, this.place(Math.max(first, end - 1)).at + 1);
  }

  reload() {
    this.rows.reload();
  }
}
