/** Who changed what, and when. */
import { useMemo } from 'preact/hooks';
import { get, queryOf } from '../../api/client';
import type { components } from '../../api/schema';
import { Drawer } from '../../components/drawer';
import { Menu } from '../../components/menu';
import { momentOf, Period } from '../../components/period';
import { Empty } from '../../components/states';
import { Ago, Time } from '../../components/time';
import { useTyping } from '../../components/use-typing';
import { language } from '../../i18n/i18n';
import { byCursor } from '../../table/cursor';
import { type Column, Table } from '../../table/table';
import { useRows } from '../../table/use-rows';
import { codec, text } from '../../url/codec';
import { useUrlState } from '../../url/state';
import { t } from './strings';

type AuditRow = components['schemas']['AuditRow'];

const FIELDS = ['user', 'app', 'action', 'object', 'from'] as const;
type Field = (typeof FIELDS)[number];

type AuditState = Record<Field | 'since' | 'open', string>;

const auditState = codec<AuditState>({
  user: text(),
  app: text(),
  action: text(),
  object: text(),
  from: text(),
  since: text(),
  open: text(),
});

const columns = (): Column<AuditRow>[] => {
  const words = t().audit;
  return [
    { key: 'at', title: words.at, width: 84, rank: 1, align: 'right', cell: row => <Ago at={row.at} /> },
    { key: 'user', title: words.user, width: 90, grow: 1, rank: 0, cell: row => row.user },
    { key: 'action', title: words.action, width: 120, grow: 1, rank: 0, cell: row => row.action },
    {
      key: 'object',
      title: words.object,
      width: 130,
      grow: 2,
      rank: 2,
      cell: row => <span title={row.object}>{row.object}</span>,
    },
    {
      key: 'detail',
      title: words.detail,
      width: 140,
      grow: 3,
      rank: 4,
      cell: row => <span title={row.detail}>{row.detail}</span>,
    },
    { key: 'app', title: words.app, width: 90, grow: 1, rank: 5, cell: row => row.app },
    { key: 'from', title: words.from, width: 110, rank: 3, cell: row => row.from },
  ];
};

export function Audit() {
  const [state, set] = useUrlState(auditState);
  const words = t().audit;
  const { open, ...filter } = state;
  const key = JSON.stringify(filter);
  const load = useMemo(() => {
    const query = { ...filter, since: momentOf(filter.since, Date.now()) };
    return byCursor<AuditRow, number>(0, async (before, limit, signal) => {
      const page = await get<{ audit: AuditRow[]; next?: number | null }>(
        '/audit',
        { ...query, limit, before: before || null },
        signal,
      );
      return { rows: page.audit, next: page.next ?? null };
    });
  }, [key]);
  const rows = useRows<AuditRow>(`audit ${key}`, row => String(row.id), load);
  void rows.version.value;
  const place = open ? rows.indexOf(open) : undefined;
  const opened = place === undefined ? undefined : rows.row(place);
  const filtered = Object.values(filter).some(value => value !== '');
  const exported = (format: string) => `/api/v1/audit/export${queryOf({ ...filter, format })}`;
  return (
    <>
      <div class="list-head">
        {FIELDS.map(field => (
          <FilterField
            key={field}
            label={words[field]}
            value={state[field]}
            onChange={value => set({ [field]: value })}
          />
        ))}
        <Period label={words.since} value={state.since} onChange={since => set({ since }, 'push')} />
        <span class="grow" />
        <Menu
          size="small"
          side="right"
          icon="download"
          items={[
            { label: words.exportCsv, onSelect: () => location.assign(exported('csv')) },
            { label: words.exportJson, onSelect: () => location.assign(exported('jsonl')) },
          ]}
        >
          {words.export}
        </Menu>
      </div>
      <div class="list-body">
        <Table
          rows={rows}
          columns={useMemo(columns, [language.value])}
          label={t().sections.audit}
          rowName={row => `${row.action} ${row.object}`}
          opened={open}
          onOpen={row => set({ open: String(row.id) }, open ? 'replace' : 'push')}
          empty={<Empty icon="admin" title={filtered ? t().nothing : t().none.audit} />}
        />
        {opened && (
          <Drawer subject={open} title={opened.action} onClose={() => set({ open: '' })}>
            <dl class="facts">
              <dt>{words.at}</dt>
              <dd>
                <Time at={opened.at} />
              </dd>
              {FIELDS.map(field => (
                <Fact key={field} term={words[field]} value={opened[field]} />
              ))}
              <Fact term={words.detail} value={opened.detail} />
              <Fact term={words.request} value={opened.request_id} />
            </dl>
          </Drawer>
        )}
      </div>
    </>
  );
}

function Fact({ term, value }: { term: string; value: string }) {
  if (!value) return null;
  return (
    <>
      <dt>{term}</dt>
      <dd>{value}</dd>
    </>
  );
}

function FilterField({ label, value, onChange }: { label: string; value: string; onChange: (value: string) => void }) {
  const [typed, type] = useTyping(value, onChange);
  return (
    <input
      class="input input-small admin-filter"
      type="search"
      placeholder={label}
      aria-label={label}
      value={typed}
      onInput={event => type(event.currentTarget.value)}
    />
  );
}
