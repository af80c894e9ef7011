/** Config files as a table of any number; an opened one shows what was generated beside what was released. */
import { useState } from 'preact/hooks';
import { useData } from '../api/use-data';
import { Button } from '../components/button';
import { Icon } from '../components/icon';
import { Empty, Loaded } from '../components/states';
import { Ago } from '../components/time';
import { DiffView } from '../editor/diff-view';
import { t as common } from '../i18n/common';
import { count, hostText } from '../i18n/format';
import type { Rows } from '../table/rows';
import { type Column, Table } from '../table/table';
import { useRows } from '../table/use-rows';
import { paths } from '../url/paths';
import { type BusinessFile, businessFiles, configFile, type ViewFilter } from './api';
import './business.css';
import { t } from './file-strings';

export type FileState = 'same' | 'changed' | 'new' | 'missing';

export function stateOfFile(file: Pick<BusinessFile, 'generated' | 'released'>): FileState {
  if (!file.generated) return 'missing';
  if (!file.released) return 'new';
  return file.generated.md5 === file.released.md5 && file.generated.path === file.released.path ? 'same' : 'changed';
}

const LOOKS = {
  same: { tone: 'good', icon: 'tick' },
  changed: { tone: 'warn', icon: 'half' },
  new: { tone: 'info', icon: 'plus' },
  missing: { tone: 'idle', icon: 'question' },
} as const;

export const keyOfFile = (file: BusinessFile) => `${file.process}/${file.local_inst_id}/${file.template}`;

interface FilesProps {
  business: number;
  filter: ViewFilter;
  templates: number[];
  /** Another value loads the files again. */
  turn?: string | number;
}

export function FileTable({ business, filter, templates, turn = '' }: FilesProps) {
  const words = t();
  const [all, setAll] = useState(false);
  const [open, setOpen] = useState<BusinessFile | null>(null);
  const [total, setTotal] = useState(0);
  const key = JSON.stringify([business, filter, templates, turn]);
  const rows = useRows<BusinessFile>(`${key} ${all}`, keyOfFile, async (start, limit, signal) => {
    const changed = all ? {} : { changed: true };
    const page = await businessFiles(business, filter, templates, { ...changed, start, limit }, signal);
    setTotal(page.total);
    return { count: page.count, rows: page.files };
  });
  return (
    <div class="stack">
      <div class="line">
        <strong class="grow">{numbers(rows, total, all)}</strong>
        <label class="line">
          <input
            type="checkbox"
            checked={!all}
            onChange={event => {
              setOpen(null);
              setAll(!event.currentTarget.checked);
            }}
          />
          {words.onlyChanged}
        </label>
      </div>
      <FileRows
        business={business}
        rows={rows}
        open={open}
        onOpen={setOpen}
        empty={total > 0 ? words.allSame : words.none}
      />
    </div>
  );
}

interface FileRowsProps<T extends BusinessFile> {
  business: number;
  rows: Rows<T>;
  open: T | null;
  onOpen: (file: T | null) => void;
  /** What there is to say when there is none. */
  empty: string;
  /** Beside those of every file. */
  more?: Column<T>[];
}

export function FileRows<T extends BusinessFile>({ business, rows, open, onOpen, empty, more = [] }: FileRowsProps<T>) {
  const words = t();
  return (
    <>
      <Table
        rows={rows}
        columns={[...columns<T>(business), ...more]}
        label={words.files}
        rowName={file => (file.generated ?? file.released)?.path ?? keyOfFile(file)}
        onOpen={onOpen}
        opened={open ? keyOfFile(open) : ''}
        height="content"
        empty={<Empty icon="templates" title={empty} />}
      />
      {open && (
        <section class="card" aria-label={words.difference}>
          <div class="card-head">
            <h2 class="grow mono file-path">{(open.generated ?? open.released)?.path}</h2>
            <a href={paths.business(business, { open: open.process, id: open.process })}>
              {words.of(open.name, open.local_inst_id)}
            </a>
            <Button kind="quiet" size="small" icon="close" label={common().close} onClick={() => onOpen(null)} />
          </div>
          <div class="card-body">
            <FileDiff key={keyOfFile(open)} business={business} file={open} />
          </div>
        </section>
      )}
    </>
  );
}

function numbers(rows: Rows<BusinessFile>, total: number, all: boolean): string {
  if (rows.count.value === null) return '';
  return all ? t().count(count(total)) : t().changed(count(rows.count.value), count(total));
}

function columns<T extends BusinessFile>(business: number): Column<T>[] {
  const words = t();
  return [
    {
      key: 'path',
      title: words.path,
      width: 220,
      grow: 3,
      rank: 0,
      cell: file => <code>{(file.generated ?? file.released)?.path}</code>,
    },
    {
      key: 'state',
      title: words.state,
      width: 150,
      grow: 1,
      rank: 0,
      cell: file => {
        const state = stateOfFile(file);
        return (
          <span class={`state tone-${LOOKS[state].tone}`}>
            <Icon name={LOOKS[state].icon} size={13} />
            <span class="ellipsis">{words.states[state]}</span>
          </span>
        );
      },
    },
    {
      key: 'process',
      title: words.process,
      width: 120,
      grow: 1,
      rank: 2,
      cell: file => (
        <a href={paths.business(business, { open: file.process, id: file.process })}>
          {words.of(file.name, file.local_inst_id)}
        </a>
      ),
    },
    { key: 'host', title: words.host, width: 110, rank: 1, cell: file => hostText(file.host) },
    {
      key: 'generated',
      title: words.generated,
      width: 90,
      rank: 3,
      cell: file => file.generated && words.version(file.generated.version),
    },
    {
      key: 'released',
      title: words.released,
      width: 130,
      rank: 4,
      cell: file =>
        file.released ? (
          <>
            {words.version(file.released.version)} · <Ago at={file.released.at} />
          </>
        ) : null,
    },
  ];
}

function FileDiff({ business, file }: { business: number; file: BusinessFile }) {
  const words = t();
  const answer = useData(`file ${business} ${keyOfFile(file)} ${file.generated?.md5}`, async signal => {
    const text = async (of: 'generated' | 'released') =>
      file[of] ? ((await configFile(business, file, of, signal)).content ?? '') : '';
    const [before, after] = await Promise.all([text('released'), text('generated')]);
    return { before, after: file.generated ? after : before };
  });
  return <Loaded {...answer}>{texts => <DiffView {...texts} label={words.difference} />}</Loaded>;
}
