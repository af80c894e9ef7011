/** The hosts, with their agents and what runs on them. */

import { useMemo, useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { get } from '../../api/client';
import type { Host, HostPage } from '../../api/types';
import { Button } from '../../components/button';
import '../../components/field.css';
import { Empty } from '../../components/states';
import { count } from '../../i18n/format';
import { language } from '../../i18n/i18n';
import { Join } from '../../join/join';
import { useKeys } from '../../keys/keys';
import { useLive } from '../../live/live';
import { useTitle } from '../../shell/title';
import { ColumnsMenu } from '../../table/columns-menu';
import { Table } from '../../table/table';
import { useRows } from '../../table/use-rows';
import { codec, flag, list, text } from '../../url/codec';
import { paths } from '../../url/paths';
import { useUrlState } from '../../url/state';
import { hostColumns } from './columns';
import './hosts.css';
import { t } from './strings';

interface HostsState {
  q: string;
  connected: boolean | null;
  version: string[];
  cloud: string[];
  sort: string;
  cols: string[];
}

const hostsState = codec<HostsState>({
  q: text(),
  connected: flag(),
  version: list(),
  cloud: list(),
  sort: text(),
  cols: list(),
});

export default function HostsPage() {
  const [state, set] = useUrlState(hostsState);
  const { route } = useLocation();
  const [typed, setTyped] = useState(state.q);
  const timer = useRef<ReturnType<typeof setTimeout>>();
  const field = useRef<HTMLInputElement>(null);
  const words = t();
  useTitle(words.title);
  const columns = useMemo(hostColumns, [language.value]);
  const query = {
    q: state.q,
    connected: state.connected,
    version: state.version,
    cloud: state.cloud,
    order: state.sort || 'host',
  };
  const rows = useRows<Host>(
    JSON.stringify(query),
    row => row.host,
    async (start, limit, signal) => {
      const page = await get<HostPage>('/hosts', { ...query, start, limit }, signal);
      return { count: page.count, rows: page.hosts };
    },
  );
  useLive({ kinds: ['agent'] }, changes => {
    for (const change of changes)
      if (change.kind === 'agent')
        rows.patch(change.host, row => ({ ...row, connected: change.connected, since: change.at ?? row.since }));
  });
  useKeys(words.title, { '/': { label: words.filter, run: () => field.current?.focus() } });

  const find = (q: string) => {
    setTyped(q);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => set({ q: q.trim() }), 250);
  };
  const filtered = state.q !== '' || state.connected !== null || state.version.length > 0 || state.cloud.length > 0;
  const clear = () => {
    setTyped('');
    set({ q: '', connected: null, version: [], cloud: [] }, 'push');
  };

  return (
    <div class="hosts">
      <div class="hosts-head">
        <h1>{words.title}</h1>
        {rows.count.value !== null && <span class="muted hosts-count">{count(rows.count.value)}</span>}
        <input
          ref={field}
          class="input input-small hosts-find"
          type="search"
          placeholder={words.filter}
          aria-label={words.filter}
          value={typed}
          onInput={event => find(event.currentTarget.value)}
        />
        <span class="line" role="group" aria-label={words.connection}>
          {([null, true, false] as const).map(value => (
            <Button
              key={String(value)}
              size="small"
              pressed={state.connected === value}
              onClick={() => set({ connected: value }, 'push')}
            >
              {value === null ? words.all : value ? words.connected : words.away}
            </Button>
          ))}
        </span>
        <span class="grow" />
        <ColumnsMenu columns={columns} chosen={state.cols} onChoose={cols => set({ cols })} />
      </div>
      <Table
        rows={rows}
        columns={columns}
        chosen={state.cols}
        label={words.title}
        rowName={row => row.host}
        sort={state.sort}
        onSort={sort => set({ sort })}
        onOpen={row => route(paths.host(row.host))}
        isGone={row => state.connected !== null && row.connected !== state.connected}
        empty={
          filtered ? (
            <Empty icon="hosts" title={words.nothing} action={<Button onClick={clear}>{words.clear}</Button>} />
          ) : (
            <FirstHost />
          )
        }
      />
    </div>
  );
}

function FirstHost() {
  return (
    <Empty icon="hosts" title={t().none}>
      <p>{t().noneText}</p>
      <Join />
    </Empty>
  );
}
