/** The part of a time that charts show, in seconds since 1970. Pure. */

export interface Range {
  from: number;
  to: number;
}

/** Figures at equal distances, the oldest first. */
export interface Span {
  /** The time of the last figure, in ms. */
  until: number;
  stepSecs: number;
  length: number;
}

/** A chart shows at least this many figures. */
const LEAST = 6;

export const whole = ({ until, stepSecs, length }: Span): Range => ({
  from: until / 1000 - (length - 1) * stepSecs,
  to: until / 1000,
});

/** Within the figures, and wide enough to show some. Null is all of them. */
export function fitted(range: Range | null, span: Span): Range | null {
  if (range === null) return null;
  const all = whole(span);
  const wide = Math.min(Math.max(range.to - range.from, LEAST * span.stepSecs), all.to - all.from);
  const from = Math.min(Math.max((range.from + range.to - wide) / 2, all.from), all.to - wide);
  if (wide >= all.to - all.from || range.to <= all.from || range.from >= all.to) return null;
  return { from, to: from + wide };
}

/** By a factor, around the middle: 0.5 shows half as much. */
export function scaled(range: Range | null, span: Span, factor: number): Range | null {
  const { from, to } = range ?? whole(span);
  const [middle, half] = [(from + to) / 2, ((to - from) / 2) * factor];
  return fitted({ from: middle - half, to: middle + half }, span);
}

/** By a part of what is shown: -0.5 goes back by half of it. */
export function moved(range: Range | null, span: Span, part: number): Range | null {
  const { from, to } = range ?? whole(span);
  const by = (to - from) * part;
  return fitted({ from: from + by, to: to + by }, span);
}

/** For the address: `1700000000-1700000600`. */
export const writeRange = (range: Range | null) =>
  range === null ? '' : `${Math.round(range.from)}-${Math.round(range.to)}`;

export function readRange(text: string): Range | null {
  const found = /^(\d{1,12})-(\d{1,12})$/.exec(text);
  if (!found) return null;
  const [from, to] = [Number(found[1]), Number(found[2])];
  return from < to ? { from, to } : null;
}

export interface Bucket {
  /** When it begins, in ms. */
  at: number;
  /** The largest value of each series, null where there is none. */
  most: (number | null)[];
}

/** What is shown, in at most `limit` rows; those before the first and behind the last value are left out. */
export function buckets(series: (number | null)[][], range: Range | null, span: Span, limit: number): Bucket[] {
  const { from, to } = range ?? whole(span);
  const begin = whole(span).from;
  const first = Math.max(0, Math.ceil((from - begin) / span.stepSecs));
  const last = Math.min(span.length - 1, Math.floor((to - begin) / span.stepSecs));
  const size = Math.max(1, Math.ceil((last - first + 1) / limit));
  const rows: Bucket[] = [];
  for (let at = first; at <= last; at += size) {
    const most = series.map(values => {
      const known = values.slice(at, Math.min(at + size, last + 1)).filter(value => value !== null);
      return known.length === 0 ? null : Math.max(...known);
    });
    rows.push({ at: (begin + at * span.stepSecs) * 1000, most });
  }
  const known = rows.map(row => row.most.some(value => value !== null));
  return rows.slice(Math.max(0, known.indexOf(true)), known.lastIndexOf(true) + 1);
}
