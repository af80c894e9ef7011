/** How fast an operation goes and how long it will still take, from what was seen while the page was open. */
export class Pace {
  private seen: { at: number; ended: number }[] = [];

  add(at: number, ended: number) {
    this.seen.push({ at, ended });
    // The last minute counts.
    while (this.seen.length > 2 && at - (this.seen[0]?.at ?? 0) > 60_000) this.seen.shift();
  }

  /** Per second; null until something has ended. */
  rate(): number | null {
    const first = this.seen[0];
    const last = this.seen[this.seen.length - 1];
    if (!first || !last || last.at - first.at < 1000 || last.ended <= first.ended) return null;
    return ((last.ended - first.ended) * 1000) / (last.at - first.at);
  }

  leftMs(rest: number): number | null {
    const rate = this.rate();
    return rate === null ? null : (rest / rate) * 1000;
  }
}
