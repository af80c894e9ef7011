/** The lines of a log that the page keeps: the last 50,000 or 8 MB, whichever is less. */

export const MOST_LINES = 50_000;
export const MOST_BYTES = 8 * 1024 * 1024;

export class LineRing {
  private lines: string[] = [];
  private from = 0;
  private bytes = 0;
  private rest = '';
  /** Lines that were dropped because there were too many. */
  dropped = 0;

  constructor(
    private readonly mostLines = MOST_LINES,
    private readonly mostBytes = MOST_BYTES,
  ) {}

  /** Adds output, which may begin and end within a line. */
  push(text: string) {
    const parts = (this.rest + text).split('\n');
    this.rest = parts.pop() ?? '';
    // A line without an end is cut, so that it cannot grow for ever.
    if (this.rest.length > 64 * 1024) {
      parts.push(this.rest);
      this.rest = '';
    }
    for (const line of parts) {
      const clean = line.endsWith('\r') ? line.slice(0, -1) : line;
      this.lines.push(clean);
      this.bytes += clean.length;
    }
    this.trim();
  }

  private trim() {
    while (this.length > this.mostLines || (this.bytes > this.mostBytes && this.length > 1)) {
      this.bytes -= this.lines[this.from]?.length ?? 0;
      this.lines[this.from] = '';
      this.from++;
      this.dropped++;
    }
    // Moving the rest each time would cost as much as the lines that stay.
    if (this.from > 10_000 && this.from > this.lines.length / 2) {
      this.lines = this.lines.slice(this.from);
      this.from = 0;
    }
  }

  /** Whole lines, and the begin of one that goes on. */
  get length() {
    return this.lines.length - this.from;
  }

  get pendingLine() {
    return this.rest;
  }

  line(index: number): string {
    return this.lines[this.from + index] ?? '';
  }

  all(): string[] {
    return this.lines.slice(this.from);
  }

  clear() {
    this.lines = [];
    this.from = 0;
    this.bytes = 0;
    this.rest = '';
    this.dropped = 0;
  }
}
