/** The rows of the process view, kept up to date by the live stream. */
import { useMemo, useState } from 'preact/hooks';
import { type Instance, type ViewFilter, type ViewProcess, view } from '../../business/api';
import { Lines } from '../../business/lines';
import type { StatusChange } from '../../live/changes';
import { useLive } from '../../live/live';
import { useRows } from '../../table/use-rows';

const UP = ['running', 'ready', 'unhealthy', 'starting'];

export function applyToInstance(instance: Instance, change: StatusChange): Instance {
  return {
    ...instance,
    state: change.state,
    status: UP.includes(change.state) ? 'running' : change.state === 'unknown' ? instance.status : 'stopped',
    restart_needed: change.restart_needed,
    pid: change.pid,
    message: change.message,
    reason: change.state === instance.state ? (instance.reason ?? null) : null,
    reported_at: change.at,
    managed: change.managed ?? instance.managed,
    wanted: change.wanted ?? instance.wanted,
    started_at: change.started_at ?? instance.started_at,
    cpu: change.cpu ?? instance.cpu,
    mem: change.mem ?? instance.mem,
    connected: change.state === 'unknown' ? instance.connected : true,
  };
}

export function applyToView(row: ViewProcess, change: StatusChange): ViewProcess {
  const instances = row.instances.map(one => (one.process === change.process ? applyToInstance(one, change) : one));
  return {
    ...row,
    instances,
    status: instances.every(one => one.status === 'running')
      ? 'running'
      : instances.every(one => one.status === 'unregistered')
        ? 'unregistered'
        : 'stopped',
    managed: instances.every(one => one.managed),
    // The reasons of the row were those of its old state.
    blocked: Object.fromEntries(
      Object.entries(row.blocked ?? {}).filter(([, reason]) => !reason.startsWith('already_')),
    ),
  };
}

export function useViewRows(business: number, filter: ViewFilter, order: string, expanded: string[]) {
  const rows = useRows<ViewProcess>(
    JSON.stringify([business, filter, order]),
    row => String(row.id),
    async (start, limit, signal) => {
      const page = await view(business, filter, { order, start, limit }, signal);
      return { count: page.count, rows: page.processes };
    },
  );
  const lines = useMemo(() => new Lines(rows), [rows]);
  lines.expand(expanded);
  const [shown, setShown] = useState<Map<string, string>>(new Map());
  const onShown = (keys: string[]) => {
    const subjects = new Map<string, string>();
    for (const key of keys) {
      const index = rows.indexOf(key);
      const row = index === undefined ? undefined : rows.row(index);
      for (const one of row?.instances ?? []) subjects.set(`${one.process}@${row?.host}`, key);
    }
    setShown(subjects);
  };
  useLive({ kinds: ['status'], subjects: [...shown.keys()] }, changes => {
    for (const change of changes) {
      const key = change.kind === 'status' ? shown.get(`${change.process}@${change.host}`) : undefined;
      if (change.kind === 'status' && key) rows.patch(key, row => applyToView(row, change));
    }
  });
  useLive({ kinds: ['agent'] }, changes => {
    for (const change of changes)
      if (change.kind === 'agent')
        rows.patchWhere(
          row => row.host === change.host,
          row => ({ ...row, instances: row.instances.map(one => ({ ...one, connected: change.connected })) }),
        );
  });
  return { rows, lines, onShown };
}
