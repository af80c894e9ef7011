/** The rows of processes that match a filter, kept up to date by the live stream. */
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { processes } from '../api/calls';
import { loginCount } from '../api/session';
import type { Process, ProcessFilter } from '../api/types';
import { live, useLive } from '../live/live';
import { processKey } from '../operate/target';
import { Rows } from '../table/rows';
import { applyAgent, applyStatus } from './change';

export function useProcessRows(filter: ProcessFilter, order: string): { rows: Rows<Process>; onShown: (keys: string[]) => void } {
  const rows = useRows<Process>(JSON.stringify([filter, order]), processKey, async (start, limit, signal) => {
    const page = await processes(filter, { order, start, limit }, signal);
    return { count: page.count, rows: page.processes };
  });
  const [shown, setShown] = useState<string[]>([]);
  useLive({ kinds: ['status'], subjects: shown }, changes => {
    for (const change of changes) if (change.kind === 'status') rows.patch(`${change.process}@${change.host}`, row => applyStatus(row, change));
  });
  useLive({ kinds: ['agent'] }, changes => {
    for (const change of changes)
      if (change.kind === 'agent')
        rows.patchWhere(
          row => row.host === change.host,
          row => applyAgent(row, change),
        );
  });
  return { rows, onShown: useCallback(setShown, []) };
}

/**
 * Rows for a table. Another `key` is another list; the old one stays until the first rows of the new one are there. After a
 * login or a gap in the stream they are asked for again.
 */
export function useRows<T>(key: string, keyOf: (row: T) => string, load: ConstructorParameters<typeof Rows<T>>[0]): Rows<T> {
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
  return kept.current;
}
