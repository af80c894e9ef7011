import type { Kind } from '../live/changes';
import { useThrottled } from '../live/throttled';
import type { Rows } from '../table/rows';

/**
 * How many more or fewer match than the table shows: rows do not come and go by themselves. `now` is the count of the last
 * facets, which `refresh` asks for again when something has changed.
 */
export function useMoved<T>(
  now: number | null,
  table: Rows<T>,
  refresh: () => void,
  kinds: Kind[] = ['summary', 'registration'],
): number {
  useThrottled(kinds, refresh);
  const before = table.count.value;
  return now === null || before === null || table.loading.value ? 0 : Math.abs(now - before);
}
