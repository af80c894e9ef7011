import type { Host } from '../../api/types';
import { Icon } from '../../components/icon';
import { StateBar } from '../../components/state-bar';
import { Ago, Since } from '../../components/time';
import { bytes, count, hostText } from '../../i18n/format';
import type { Column } from '../../table/table';
import { paths } from '../../url/paths';
import { t } from './strings';

export function AgentMark({ connected }: { connected: boolean }) {
  return (
    <span class={`state ${connected ? 'tone-good' : 'tone-warn'}`}>
      <Icon name={connected ? 'dot' : 'away'} size={13} />
      {connected ? t().connected : t().away}
    </span>
  );
}

export function hostColumns(): Column<Host>[] {
  const titles = t().columns;
  return [
    {
      key: 'host',
      title: titles.host,
      width: 150,
      grow: 2,
      rank: 0,
      sort: 'host',
      cell: row => <a href={paths.host(row.host)}>{hostText(row.host)}</a>,
    },
    {
      key: 'hostname',
      title: titles.hostname,
      width: 130,
      grow: 2,
      rank: 2,
      sort: 'hostname',
      cell: row => row.hostname ?? '',
    },
    { key: 'agent', title: titles.agent, width: 112, rank: 0, cell: row => <AgentMark connected={row.connected} /> },
    {
      key: 'since',
      title: titles.since,
      width: 70,
      rank: 3,
      align: 'right',
      sort: 'since',
      cell: row => <Since at={row.since} />,
    },
    {
      key: 'processes',
      title: titles.processes,
      width: 92,
      rank: 1,
      align: 'right',
      sort: 'processes',
      cell: row => count(row.processes),
    },
    {
      key: 'states',
      title: titles.states,
      width: 130,
      grow: 1,
      rank: 4,
      cell: row =>
        row.states && row.processes > 0 ? (
          <span class="cell-bar">
            <StateBar label={row.host} states={row.states} />
          </span>
        ) : null,
    },
    { key: 'version', title: titles.version, width: 84, rank: 5, sort: 'version', cell: row => row.version ?? '' },
    { key: 'cores', title: titles.cores, width: 66, rank: 6, align: 'right', cell: row => row.cores ?? '' },
    {
      key: 'memory',
      title: titles.memory,
      width: 90,
      rank: 6,
      align: 'right',
      cell: row => (row.memory_kib ? bytes(row.memory_kib * 1024) : ''),
    },
    { key: 'kernel', title: titles.kernel, width: 150, rank: 9, extra: true, cell: row => row.kernel ?? '' },
    { key: 'relay', title: titles.relay, width: 130, rank: 9, extra: true, cell: row => row.relay ?? '' },
    {
      key: 'enrolled',
      title: titles.enrolled,
      width: 96,
      rank: 9,
      extra: true,
      cell: row => <Ago at={row.enrolled_at} />,
    },
  ];
}
