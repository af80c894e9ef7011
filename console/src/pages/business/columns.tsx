import type { Instance, ViewProcess } from '../../business/api';
import { viewState } from '../../business/filter';
import type { ViewLine } from '../../business/lines';
import { t as shared } from '../../business/strings';
import { Icon } from '../../components/icon';
import { STATES, StateBadge } from '../../components/state-badge';
import { Since } from '../../components/time';
import { t as common, envWord } from '../../i18n/common';
import { count, decimal, hostText } from '../../i18n/format';
import { rowText } from '../../process/sentences';
import { t as processWords } from '../../process/strings';
import type { Column } from '../../table/table';
import { paths } from '../../url/paths';
import { t } from './strings';

/** Of several instances the one that needs attention most. */
export function worst(instances: Instance[]): Instance | undefined {
  return [...instances].sort((a, b) => STATES.indexOf(b.state) - STATES.indexOf(a.state))[0];
}

const alone = ({ row, instance }: ViewLine): Instance | undefined =>
  instance ?? (row.instances.length === 1 ? row.instances[0] : undefined);

const up = (instance: Instance | undefined): instance is Instance => Boolean(instance?.pid);

function State({ row, instance }: ViewLine) {
  if (instance) return <StateBadge state={instance.state} was={instance.was} />;
  const shown = worst(row.instances);
  if (!shown) return <StateBadge state="unregistered" />;
  const running = row.instances.filter(one => one.status === 'running').length;
  return (
    <span class="view-state">
      <StateBadge state={shown.state} was={shown.was} />
      {row.instances.length > 1 && (
        <span class="muted" title={t().runningOf(count(running), count(row.instances.length))}>
          {count(running)}/{count(row.instances.length)}
        </span>
      )}
    </span>
  );
}

export function viewColumns(onExpand: (expand: string[]) => void): Column<ViewLine>[] {
  const words = t();
  const titles = processWords().columns;
  const dims = shared().dims;
  const toggle = (row: ViewProcess) => {
    const { expand } = viewState.read(location.search);
    const key = String(row.id);
    onExpand(expand.includes(key) ? expand.filter(one => one !== key) : [...expand, key]);
  };
  return [
    { key: 'state', title: titles.state, width: 116, rank: 0, sort: 'state', cell: line => <State {...line} /> },
    {
      key: 'name',
      title: dims.name,
      width: 130,
      grow: 2,
      rank: 0,
      sort: 'name',
      cell: ({ row, instance, open }) => {
        if (instance)
          return (
            <a class="view-instance" href={paths.instance(instance.process, row.host)}>
              {words.instance(instance.local_inst_id)}
            </a>
          );
        const [only] = row.instances;
        return (
          <span class="view-name">
            {row.instances.length > 1 ? (
              <button
                type="button"
                class="view-expand"
                tabIndex={-1}
                aria-label={words.instancesOf(row.name)}
                aria-expanded={open}
                onClick={() => toggle(row)}
              >
                <Icon name={open ? 'down' : 'right'} size={12} />
              </button>
            ) : (
              <span class="view-expand" />
            )}
            {only ? (
              <a class="ellipsis" href={paths.instance(only.process, row.host)}>
                {row.name}
              </a>
            ) : (
              <span class="ellipsis">{row.name}</span>
            )}
            {row.vanished && (
              <span class="tone-warn" title={shared().vanished}>
                <Icon name="warning" size={13} />
                <span class="visually-hidden">{shared().vanished}</span>
              </span>
            )}
          </span>
        );
      },
    },
    {
      key: 'host',
      title: titles.host,
      width: 108,
      grow: 1,
      rank: 1,
      sort: 'ip',
      cell: ({ row, instance }) =>
        instance ? null : (
          <>
            {row.instances.some(one => !one.connected) && (
              <span class="tone-warn host-away" title={shared().away}>
                <Icon name="away" size={12} />
              </span>
            )}
            {hostText(row.host)}
            {row.cloud_name && <span class="muted"> {row.cloud_name}</span>}
          </>
        ),
    },
    {
      key: 'set',
      title: dims.set,
      width: 92,
      grow: 1,
      rank: 3,
      sort: 'set',
      cell: ({ row, instance }) => (instance ? null : row.set.name),
    },
    {
      key: 'module',
      title: dims.module,
      width: 92,
      grow: 1,
      rank: 3,
      sort: 'module',
      cell: ({ row, instance }) => (instance ? null : row.module.name),
    },
    {
      key: 'service',
      title: dims.service,
      width: 140,
      grow: 1,
      rank: 9,
      extra: true,
      cell: ({ row, instance }) => (instance ? null : row.service.name),
    },
    {
      key: 'env',
      title: dims.env,
      width: 90,
      rank: 6,
      cell: ({ row, instance }) => (instance ? null : envWord(row.env)),
    },
    {
      key: 'wanted',
      title: titles.wanted,
      width: 82,
      rank: 7,
      cell: line => {
        const one = alone(line) ?? line.row.instances[0];
        if (!one || (!line.instance && line.row.instances.some(other => other.wanted !== one.wanted))) return null;
        return one.wanted === 'running' ? processWords().running : processWords().stopped;
      },
    },
    {
      key: 'managed',
      title: titles.managed,
      width: 84,
      rank: 6,
      cell: ({ row, instance }) =>
        (instance ?? row).managed ? common().yes : <span class="muted">{common().no}</span>,
    },
    {
      key: 'since',
      title: titles.since,
      width: 64,
      rank: 4,
      align: 'right',
      sort: 'started',
      cell: line => {
        const one = alone(line);
        return up(one) ? <Since at={one.started_at} /> : null;
      },
    },
    { key: 'pid', title: titles.pid, width: 76, rank: 8, align: 'right', cell: line => alone(line)?.pid ?? '' },
    {
      key: 'cpu',
      title: titles.cpu,
      width: 66,
      rank: 5,
      align: 'right',
      cell: line => sum(line, one => one.cpu),
    },
    { key: 'mem', title: titles.mem, width: 70, rank: 5, align: 'right', cell: line => sum(line, one => one.mem) },
    {
      key: 'message',
      title: titles.message,
      width: 140,
      grow: 4,
      rank: 2,
      cell: ({ row, instance }) => {
        const one = instance ?? worst(row.instances);
        const text = one ? rowText(one) : '';
        return <span title={text}>{text}</span>;
      },
    },
    {
      key: 'id',
      title: dims.id,
      width: 64,
      rank: 9,
      extra: true,
      align: 'right',
      sort: 'id',
      cell: ({ row }) => row.id,
    },
    {
      key: 'priority',
      title: words.priority,
      width: 76,
      rank: 9,
      extra: true,
      align: 'right',
      cell: ({ row, instance }) => (instance ? '' : (row.priority ?? '')),
    },
  ];
}

/** Of all instances that run. */
function sum({ row, instance }: ViewLine, of: (one: Instance) => number) {
  const running = (instance ? [instance] : row.instances).filter(up);
  return running.length === 0 ? '' : decimal(running.reduce((total, one) => total + of(one), 0));
}
