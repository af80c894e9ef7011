import type { TimelineEntry } from '../api/types';

/** Entries that follow each other and say the same, the newest first. */
export interface TimelineGroup {
  entry: TimelineEntry;
  count: number;
  /** Of the oldest. */
  since: TimelineEntry['at'];
}

/** Figures in a sentence, such as how long a run took, make no difference. */
const sameness = (entry: TimelineEntry) =>
  `${entry.kind} ${entry.task_id ?? ''} ${entry.text.replace(/\d+(\.\d+)?/g, '#')}`;

/** A process that dies again and again is one line with a count, not a page of lines. */
export function grouped(entries: TimelineEntry[]): TimelineGroup[] {
  const groups: TimelineGroup[] = [];
  for (const entry of entries) {
    const last = groups.at(-1);
    if (last && sameness(last.entry) === sameness(entry)) {
      last.count++;
      last.since = entry.at;
    } else groups.push({ entry, count: 1, since: entry.at });
  }
  return groups;
}
