import type { EventRow } from '../../api/types';
import { Icon, type IconName } from '../../components/icon';
import type { Tone } from '../../components/state-badge';
import { hostText } from '../../i18n/format';
import '../../components/state-badge.css';
import { Ago } from '../../components/time';
import type { Column } from '../../table/table';
import { paths } from '../../url/paths';
import { t } from './strings';

const LOOK: Record<string, { tone: Tone; icon: IconName }> = {
  process_exit: { tone: 'warn', icon: 'stop' },
  process_restart_success: { tone: 'good', icon: 'restart' },
  process_restart_failed: { tone: 'bad', icon: 'cross' },
  process_cancel_restart: { tone: 'bad', icon: 'error' },
  process_resource_limit_exceed: { tone: 'bad', icon: 'kill' },
  process_group_resource_limit_exceed: { tone: 'bad', icon: 'kill' },
  process_unhealthy: { tone: 'warn', icon: 'warning' },
  process_not_ready: { tone: 'warn', icon: 'warning' },
  process_ready: { tone: 'good', icon: 'tick' },
  config_drift: { tone: 'plan', icon: 'templates' },
};

export const KINDS = Object.keys(LOOK);

/** A kind of a later server is shown as it is. */
export const kindWord = (kind: string) => (t().kinds as Record<string, string>)[kind] ?? kind;

export function KindBadge({ kind }: { kind: string }) {
  const look = LOOK[kind] ?? { tone: 'idle' as const, icon: 'info' as const };
  return (
    <span class={`state tone-${look.tone}`}>
      <Icon name={look.icon} size={13} />
      <span class="ellipsis">{kindWord(kind)}</span>
    </span>
  );
}

function exitText(event: EventRow): string {
  if (typeof event.exit_signal === 'number') return t().exitSignal(event.exit_signal);
  return typeof event.exit_code === 'number' ? t().exitCode(event.exit_code) : '';
}

export function eventColumns(): Column<EventRow>[] {
  const titles = t().columns;
  return [
    { key: 'at', title: titles.at, width: 84, rank: 1, align: 'right', cell: row => <Ago at={row.at} /> },
    { key: 'kind', title: titles.kind, width: 128, rank: 0, cell: row => <KindBadge kind={row.kind} /> },
    {
      key: 'process',
      title: titles.process,
      width: 130,
      grow: 2,
      rank: 0,
      cell: row => <a href={paths.instance(row.process, row.host)}>{row.process}</a>,
    },
    {
      key: 'host',
      title: titles.host,
      width: 120,
      grow: 1,
      rank: 3,
      cell: row => <a href={paths.host(row.host)}>{hostText(row.host)}</a>,
    },
    { key: 'exit', title: titles.exit, width: 80, rank: 4, cell: exitText },
    {
      key: 'reason',
      title: titles.reason,
      width: 200,
      grow: 5,
      rank: 2,
      cell: row => <span title={row.reason}>{row.reason}</span>,
    },
  ];
}
