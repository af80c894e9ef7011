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

  /** The last lines. */
  last(most: number): string[] {
    return this.lines.slice(Math.max(this.from, this.lines.length - most));
  }

  /** How many whole lines there have been, with those that were dropped. */
  get total() {
    return this.dropped + this.length;
  }

  /** What came after `total` was this. */
  since(total: number): string[] {
    return this.last(Math.min(this.length, Math.max(0, this.total - total)));
  }

  clear() {
    this.lines = [];
    this.from = 0;
    this.bytes = 0;
    this.rest = '';
    this.dropped = 0;
  }
}

/** The lines of a ring that contain a text. Looks at each line once, because a log may have 50,000 and grow ten times a second. */
export class MatchingLines {
  private lines: string[] = [];
  private wanted: string | null = null;
  private seen = 0;

  constructor(private readonly plain: (line: string) => string) {}

  of(ring: LineRing, wanted: string): string[] {
    if (wanted !== this.wanted || ring.total < this.seen) {
      this.wanted = wanted;
      this.lines = [];
      this.seen = 0;
    }
    for (const line of ring.since(this.seen))
      if (this.plain(line).toLowerCase().includes(wanted)) this.lines.push(line);
    this.seen = ring.total;
    if (this.lines.length > MOST_LINES) this.lines = this.lines.slice(-MOST_LINES);
    return this.lines;
  }
}
