/** Processes that match a filter, as part of a page about something else: a host, or one process on all hosts. */
import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { Process, ProcessFilter } from '../api/types';
import '../components/list-page.css';
import { language } from '../i18n/i18n';
import { NOTHING, type Selection } from '../table/selection';
import { type Column, Table } from '../table/table';
import { paths } from '../url/paths';
import { ActionBar } from './action-bar';
import { processColumns } from './columns';
import { useProcessRows } from './use-rows';

interface ProcessTableProps {
  filter: ProcessFilter;
  sort: string;
  onSort: (sort: string) => void;
  label: string;
  rowName: (row: Process) => string;
  /** Some of the usual columns, or others in their place. */
  columns: (usual: Column<Process>[]) => Column<Process>[];
  empty: ComponentChildren;
}

export function ProcessTable({ filter, sort, onSort, label, rowName, columns, empty }: ProcessTableProps) {
  const { route } = useLocation();
  const [selection, setSelection] = useState<Selection>(NOTHING);
  const { rows, onShown } = useProcessRows(filter, sort);
  const shown = useMemo(() => columns(processColumns()), [language.value]);
  return (
    <div class="list-rows">
      <Table
        rows={rows}
        columns={shown}
        label={label}
        rowName={rowName}
        sort={sort}
        onSort={onSort}
        selection={selection}
        onSelect={setSelection}
        onOpen={row => route(paths.instance(`${row.namespace}/${row.name}`, row.host))}
        onShown={onShown}
        empty={empty}
      />
      <ActionBar selection={selection} onSelect={setSelection} rows={rows} filter={filter} />
    </div>
  );
}
