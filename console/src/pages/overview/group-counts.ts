import type { Facets } from '../../api/types';

export const STATES_OF = {
  bad: ['failed'],
  warn: ['backoff', 'unhealthy', 'starting'],
  idle: ['stopped', 'unknown'],
};

export interface Group {
  value: string;
  name: string | null;
  all: number;
  good: number;
  bad: number;
  warn: number;
  idle: number;
}

/** Joins the counts of the four requests; most trouble first, then the largest. */
export function groupsOf(by: string, answers: { all: Facets; bad: Facets; warn: Facets; idle: Facets }): Group[] {
  const counts = (facets: Facets) =>
    new Map((facets.facets.find(one => one.by === by)?.values ?? []).map(one => [String(one.value), one.count]));
  const [bad, warn, idle] = [counts(answers.bad), counts(answers.warn), counts(answers.idle)];
  const values = answers.all.facets.find(one => one.by === by)?.values ?? [];
  return values
    .filter(one => one.value !== null && one.value !== '')
    .map(one => {
      const value = String(one.value);
      const parts = { bad: bad.get(value) ?? 0, warn: warn.get(value) ?? 0, idle: idle.get(value) ?? 0 };
      const good = Math.max(0, one.count - parts.bad - parts.warn - parts.idle);
      return { value, name: one.name ?? null, all: one.count, good, ...parts };
    })
    .sort((a, b) => b.bad - a.bad || b.warn - a.warn || b.all - a.all || a.value.localeCompare(b.value));
}
