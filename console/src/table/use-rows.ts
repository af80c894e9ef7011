import { useEffect, useMemo, useRef } from 'preact/hooks';
import { loginCount } from '../api/session';
import { useWhenBack } from '../api/use-data';
import { live } from '../live/live';
import { type LoadRows, Rows } from './rows';

/**
 * Rows for a table. Another `key` is another list; the old one stays until the first rows of the new one are there. After a
 * login or a gap in the stream they are asked for again.
 */
export function useRows<T>(key: string, keyOf: (row: T) => string, load: LoadRows<T>): Rows<T> {
  const rows = useMemo(() => new Rows<T>(load, keyOf), [key]);
  const kept = useRef(rows);
  if (rows.count.value !== null || rows.error.value !== null || kept.current.count.value === null) kept.current = rows;
  useEffect(() => {
    rows.show(0, 1);
    return () => rows.close();
  }, [rows]);
  const epoch = live.epoch.value + loginCount.value;
  const first = useRef(epoch);
  useEffect(() => {
    if (first.current === epoch) return;
    first.current = epoch;
    rows.reload();
  }, [epoch]);
  useWhenBack(rows.error.value, () => rows.reload());
  return kept.current;
}
