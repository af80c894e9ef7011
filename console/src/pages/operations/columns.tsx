import { ProgressBadge } from '../../components/state-badge';
import { Bar } from '../../components/state-bar';
import { Ago } from '../../components/time';
import { opWord } from '../../i18n/common';
import { count } from '../../i18n/format';
import type { Column } from '../../table/table';
import { paths } from '../../url/paths';
import type { OperationRow } from './list';
import { t } from './strings';

export const pathOf = (row: OperationRow) => (row.kind === 'task' ? paths.task(row.id) : paths.job(Number(row.id)));

export const nameOf = (row: OperationRow) => (row.op ? opWord(row.op) : t().mixed);

export function operationColumns(businessName: (id: number) => string): Column<OperationRow>[] {
  const titles = t().columns;
  return [
    { key: 'status', title: titles.status, width: 116, rank: 0, cell: row => <ProgressBadge state={row.state} /> },
    {
      key: 'operation',
      title: titles.operation,
      width: 112,
      rank: 0,
      cell: row => <a href={pathOf(row)}>{nameOf(row)}</a>,
    },
    {
      key: 'what',
      title: titles.what,
      width: 120,
      grow: 3,
      rank: 1,
      cell: row =>
        row.kind === 'job' ? (
          row.business ? (
            businessName(row.business)
          ) : (
            row.namespaces.join(', ')
          )
        ) : (
          <>
            {row.process && <a href={paths.process(row.process)}>{row.process}</a>}
            {row.others > 0 && <span class="muted"> {t().others(count(row.others))}</span>}
          </>
        ),
    },
    {
      key: 'progress',
      title: titles.progress,
      width: 110,
      grow: 2,
      rank: 4,
      cell: row => (
        <span class="cell-bar">
          <Bar
            label={titles.progress}
            parts={[
              { key: 'ok', word: t().parts.ok, tone: 'good', count: row.ok },
              { key: 'failed', word: t().parts.failed, tone: 'bad', count: row.failed },
              { key: 'ignored', word: t().parts.ignored, tone: 'warn', count: row.ignored },
              {
                key: 'rest',
                word: t().parts.rest,
                tone: 'idle',
                count: Math.max(0, row.total - row.ok - row.failed - row.ignored),
              },
            ]}
          />
        </span>
      ),
    },
    {
      key: 'counts',
      title: titles.counts,
      width: 118,
      rank: 2,
      align: 'right',
      cell: row => `${count(row.ok)} / ${count(row.total)}`,
    },
    {
      key: 'failed',
      title: titles.failed,
      width: 64,
      rank: 5,
      align: 'right',
      cell: row => (row.failed > 0 ? <span class="tone-bad">{count(row.failed)}</span> : ''),
    },
    { key: 'user', title: titles.user, width: 100, grow: 1, rank: 3, cell: row => row.user },
    { key: 'at', title: titles.at, width: 84, rank: 1, align: 'right', cell: row => <Ago at={row.at} /> },
    { key: 'kind', title: titles.kind, width: 64, rank: 6, cell: row => t()[row.kind] },
  ];
}
