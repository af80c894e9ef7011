/** The rows of processes that match a filter, kept up to date by the live stream. */
import { useState } from 'preact/hooks';
import { processes } from '../api/calls';
import type { Process, ProcessFilter } from '../api/types';
import { useLive } from '../live/live';
import { processKey } from '../operate/target';
import type { Rows } from '../table/rows';
import { useRows } from '../table/use-rows';
import { applyAgent, applyStatus } from './change';

export function useProcessRows(
  filter: ProcessFilter,
  order: string,
): { rows: Rows<Process>; onShown: (keys: string[]) => void } {
  const rows = useRows<Process>(JSON.stringify([filter, order]), processKey, async (start, limit, signal) => {
    const page = await processes(filter, { order, start, limit }, signal);
    return { count: page.count, rows: page.processes };
  });
  const [shown, setShown] = useState<string[]>([]);
  useLive({ kinds: ['status'], subjects: shown }, changes => {
    for (const change of changes)
      if (change.kind === 'status') rows.patch(`${change.process}@${change.host}`, row => applyStatus(row, change));
  });
  useLive({ kinds: ['agent'] }, changes => {
    for (const change of changes)
      if (change.kind === 'agent')
        rows.patchWhere(
          row => row.host === change.host,
          row => applyAgent(row, change),
        );
  });
  return { rows, onShown: setShown };
}
