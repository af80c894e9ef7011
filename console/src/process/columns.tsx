import type { Process } from '../api/types';
import { Icon } from '../components/icon';
import { StateBadge } from '../components/state-badge';
import { Ago, Since } from '../components/time';
import { t as common } from '../i18n/common';
import { count, decimal, hostText } from '../i18n/format';
import type { Column } from '../table/table';
import { paths } from '../url/paths';
import { exitWords } from './exit';
import { rowText } from './sentences';
import { t } from './strings';

export function processColumns(): Column<Process>[] {
  const words = t();
  const titles = words.columns;
  const alive = (row: Process) => row.pid !== null && row.pid !== undefined;
  return [
    {
      key: 'state',
      title: titles.state,
      width: 100,
      rank: 0,
      sort: 'state',
      cell: row => <StateBadge state={row.state} was={row.was} />,
    },
    {
      key: 'process',
      title: titles.process,
      width: 170,
      grow: 4,
      rank: 0,
      sort: 'name',
      cell: row => (
        <a class="full-name" href={paths.instance(`${row.namespace}/${row.name}`, row.host)}>
          <span class="muted">{row.namespace}/</span>
          <span>{row.name}</span>
        </a>
      ),
    },
    {
      key: 'host',
      title: titles.host,
      width: 132,
      grow: 2,
      rank: 1,
      sort: 'host',
      cell: row => (
        <>
          {!row.connected && (
            <span class="tone-warn host-away" title={words.away}>
              <Icon name="away" size={12} />
            </span>
          )}
          {hostText(row.host)}
          {row.hostname && <span class="muted"> {row.hostname}</span>}
        </>
      ),
    },
    {
      key: 'wanted',
      title: titles.wanted,
      width: 82,
      rank: 6,
      cell: row => <Wanted row={row} />,
    },
    {
      key: 'managed',
      title: titles.managed,
      width: 84,
      rank: 8,
      cell: row => (row.managed ? common().yes : <span class="muted">{common().no}</span>),
    },
    {
      key: 'agent',
      title: titles.agent,
      width: 92,
      rank: 9,
      extra: true,
      cell: row => (row.connected ? words.connected : <span class="tone-warn">{words.away}</span>),
    },
    {
      key: 'since',
      title: titles.since,
      width: 64,
      rank: 3,
      align: 'right',
      sort: 'started',
      cell: row => (alive(row) ? <Since at={row.started_at} /> : null),
    },
    { key: 'pid', title: titles.pid, width: 76, rank: 7, align: 'right', cell: row => row.pid ?? '' },
    {
      key: 'cpu',
      title: titles.cpu,
      width: 66,
      rank: 4,
      align: 'right',
      sort: 'cpu',
      cell: row => (alive(row) ? decimal(row.cpu) : ''),
    },
    {
      key: 'mem',
      title: titles.mem,
      width: 70,
      rank: 4,
      align: 'right',
      sort: 'mem',
      cell: row => (alive(row) ? decimal(row.mem) : ''),
    },
    {
      key: 'restarts',
      title: titles.restarts,
      width: 76,
      rank: 5,
      align: 'right',
      sort: 'restarts',
      cell: row => (row.restarts > 0 ? count(row.restarts) : <span class="muted">0</span>),
    },
    {
      key: 'lastExit',
      title: titles.lastExit,
      width: 130,
      rank: 7,
      sort: 'last_exit',
      extra: true,
      cell: row => exitWords(row.last_exit),
    },
    {
      key: 'message',
      title: titles.message,
      width: 160,
      grow: 4,
      rank: 2,
      cell: row => <span title={rowText(row)}>{rowText(row)}</span>,
    },
    {
      key: 'labels',
      title: titles.labels,
      width: 160,
      rank: 9,
      extra: true,
      cell: row =>
        Object.entries(row.labels)
          .map(([key, value]) => `${key}=${value}`)
          .join(', '),
    },
    { key: 'version', title: titles.version, width: 90, rank: 9, extra: true, cell: row => row.version },
    {
      key: 'business',
      title: titles.business,
      width: 84,
      rank: 9,
      extra: true,
      align: 'right',
      cell: row => row.business ?? '',
    },
    {
      key: 'registered',
      title: titles.registered,
      width: 96,
      rank: 9,
      extra: true,
      sort: 'registered',
      cell: row => <Ago at={row.registered_at} />,
    },
  ];
}

/** Worth a look where it differs from what is. */
function Wanted({ row }: { row: Process }) {
  const words = t();
  const text = row.flag === 'running' ? words.running : row.flag === 'stopped' ? words.stopped : row.flag;
  const up = ['running', 'ready', 'completed', 'scheduled'].includes(row.state);
  const differs = row.flag === 'running' ? !up && row.state !== 'unknown' : row.flag === 'stopped' && up;
  return differs ? <strong>{text}</strong> : <span class="muted">{text}</span>;
}
