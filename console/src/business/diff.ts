/** The difference of two texts by lines. Pure. */

export interface DiffLine {
  kind: 'same' | 'added' | 'removed';
  text: string;
  /** From 1; null where the side has no such line. */
  before: number | null;
  after: number | null;
}

/** Above this many pairs of lines the middle is shown as replaced. */
const MOST = 4_000_000;

const lines = (text: string) => (text === '' ? [] : text.replace(/\n$/, '').split('\n'));

export function diffLines(before: string, after: string): DiffLine[] {
  const [a, b] = [lines(before), lines(after)];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const out: DiffLine[] = [];
  let [i, j] = [0, 0];
  const same = () => out.push({ kind: 'same', text: a[i]!, before: ++i, after: ++j });
  const removed = () => out.push({ kind: 'removed', text: a[i]!, before: ++i, after: null });
  const added = () => out.push({ kind: 'added', text: b[j]!, before: null, after: ++j });
  while (i < start) same();
  const [n, m] = [a.length - end, b.length - end];
  if ((n - start) * (m - start) <= MOST) {
    // Lengths of the longest common rest of both.
    const width = m - start + 1;
    const rest = new Uint32Array((n - start + 1) * width);
    const at = (x: number, y: number) => (x - start) * width + (y - start);
    for (let x = n - 1; x >= start; x--)
      for (let y = m - 1; y >= start; y--)
        rest[at(x, y)] =
          a[x] === b[y] ? rest[at(x + 1, y + 1)]! + 1 : Math.max(rest[at(x + 1, y)]!, rest[at(x, y + 1)]!);
    while (i < n && j < m) {
      if (a[i] === b[j]) same();
      else if (rest[at(i + 1, j)]! >= rest[at(i, j + 1)]!) removed();
      else added();
    }
  }
  while (i < n) removed();
  while (j < m) added();
  while (i < a.length) same();
  return out;
}

/** Equal lines far from a difference are folded: a number stands for them. */
export function fold(all: DiffLine[], around = 3): (DiffLine | number)[] {
  const near = new Set<number>();
  all.forEach((line, index) => {
    if (line.kind !== 'same') for (let k = index - around; k <= index + around; k++) near.add(k);
  });
  const out: (DiffLine | number)[] = [];
  all.forEach((line, index) => {
    const last = out[out.length - 1];
    if (near.has(index)) out.push(line);
    else if (typeof last === 'number') out[out.length - 1] = last + 1;
    else out.push(1);
  });
  return out;
}
