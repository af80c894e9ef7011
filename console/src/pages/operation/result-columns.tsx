import { ProgressBadge } from '../../components/state-badge';
import { opWord } from '../../i18n/common';
import { hostText, shortTook } from '../../i18n/format';
import { sentence } from '../../i18n/reasons';
import { t as processWords } from '../../process/strings';
import type { Column } from '../../table/table';
import { paths } from '../../url/paths';
import type { ResultRow } from './source';
import { t } from './strings';

export function exitText({ exit }: ResultRow): string {
  if (exit.signal !== null) return t().exitSignal(exit.signal);
  return exit.code === null ? '' : t().exitCode(exit.code);
}

/** Its operation has succeeded, and its job waits for it to stay so. */
export function gateText({ gateSince }: ResultRow): string {
  if (gateSince === null) return '';
  return gateSince > 0 ? t().atGate : t().beforeGate;
}

/** Only an update has versions. */
export function resultColumns(isUpdate: boolean): Column<ResultRow>[] {
  const titles = t().columns;
  const columns: Column<ResultRow>[] = [
    { key: 'status', title: titles.status, width: 108, rank: 0, cell: row => <ProgressBadge state={row.status} /> },
    {
      key: 'process',
      title: titles.process,
      width: 150,
      grow: 2,
      rank: 0,
      cell: row =>
        row.process.includes('/') ? <a href={paths.instance(row.process, row.host)}>{row.process}</a> : row.process,
    },
    {
      key: 'host',
      title: titles.host,
      width: 130,
      grow: 1,
      rank: 1,
      cell: row => <a href={paths.host(row.host)}>{hostText(row.host)}</a>,
    },
    {
      key: 'version',
      title: titles.version,
      width: 96,
      rank: 6,
      cell: row => {
        const words = processWords();
        const has = words.has[row.has as keyof typeof words.has] ?? row.has;
        return row.version === null ? has : `${words.specVersion(row.version)} (${has})`;
      },
    },
    { key: 'op', title: titles.op, width: 84, rank: 5, cell: row => opWord(row.op) },
    { key: 'exit', title: titles.exit, width: 80, rank: 4, cell: exitText },
    {
      key: 'took',
      title: titles.took,
      width: 70,
      rank: 3,
      align: 'right',
      cell: row => (row.tookMs === null ? '' : shortTook(row.tookMs)),
    },
    {
      key: 'message',
      title: titles.message,
      width: 180,
      grow: 5,
      rank: 2,
      cell: row => {
        const text = gateText(row) || sentence(row.reason, row.message);
        return <span title={text}>{text}</span>;
      },
    },
  ];
  return columns.filter(column => isUpdate || column.key !== 'version');
}
