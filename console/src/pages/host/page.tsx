/** One host: its agent, its processes, and whether the agent holds what is wanted. */

import { useMemo } from 'preact/hooks';
import { useRoute } from 'preact-iso';
import { get } from '../../api/client';
import { ApiError } from '../../api/errors';
import type { Host, ProcessFilter } from '../../api/types';
import { useData } from '../../api/use-data';
import '../../components/field.css';
import '../../components/list-page.css';
import { Icon } from '../../components/icon';
import { Empty, Loaded } from '../../components/states';
import { Tabs } from '../../components/tabs';
import { Since, Time } from '../../components/time';
import { t as common } from '../../i18n/common';
import { bytes, hostText } from '../../i18n/format';
import { useLive } from '../../live/live';
import { Labels } from '../../process/labels';
import { ProcessTable } from '../../process/process-table';
import { TimelineList } from '../../process/why';
import { useTitle } from '../../shell/title';
import { choice, codec, segment, text } from '../../url/codec';
import { paths } from '../../url/paths';
import { useUrlState } from '../../url/state';
import { HeldDiff } from './held-diff';
import './host.css';
import { t } from './strings';

const TABS = ['processes', 'diff', 'events'] as const;
const pageState = codec<{ tab: (typeof TABS)[number]; sort: string }>({ tab: choice(TABS, 'processes'), sort: text() });

export default function HostPage() {
  const { params } = useRoute();
  const host = params.host ?? '';
  const [{ tab, sort }, set] = useUrlState(pageState);
  const answer = useData(host, signal => get<Host>(`/hosts/${segment(host)}`, {}, signal));
  const words = t();
  useTitle(hostText(host));
  useLive({ kinds: ['agent'], subjects: [host] }, answer.reload);
  if (answer.error instanceof ApiError && answer.error.status === 404)
    return (
      <Empty whole icon="hosts" title={words.unknown} action={<a href={paths.hosts()}>{words.hosts}</a>}>
        {words.unknownText}
      </Empty>
    );
  return (
    <div class={tab === 'processes' ? 'list-page' : 'page'}>
      <div class={tab === 'processes' ? 'list-top' : 'stack'}>
        <nav class="crumbs" aria-label={words.hosts}>
          <a href={paths.hosts()}>{words.hosts}</a>
        </nav>
        <Loaded {...answer} lines={2}>
          {row => <HostHead row={row} />}
        </Loaded>
        <Tabs
          label={words.views}
          active={tab}
          tabs={TABS.map(one => ({
            key: one,
            label: words.tabs[one],
            href: paths.host(host, one === 'processes' ? {} : { tab: one }),
          }))}
        />
      </div>
      {tab === 'processes' && <Processes host={host} sort={sort} onSort={next => set({ sort: next })} />}
      {tab === 'diff' && <HeldDiff host={host} connected={answer.data?.connected ?? true} />}
      {tab === 'events' && <TimelineList host={host} />}
    </div>
  );
}

function HostHead({ row }: { row: Host }) {
  const words = t();
  const facts: [string, preact.ComponentChildren][] = [
    [words.facts.version, row.version],
    [words.facts.cores, row.cores],
    [words.facts.memory, row.memory_kib && bytes(row.memory_kib * 1024)],
    [words.facts.kernel, row.kernel],
    [words.facts.root, row.root === null || row.root === undefined ? null : row.root ? common().yes : common().no],
    [words.facts.relay, row.relay],
    [words.facts.enrolled, row.enrolled_at > 0 && <Time at={row.enrolled_at} />],
    [words.facts.labels, Object.keys(row.labels).length > 0 && <Labels labels={row.labels} />],
    [words.facts.agentId, row.agent_id && <code>{row.agent_id}</code>],
  ];
  return (
    <>
      <div class="page-head">
        <h1>
          {hostText(row.host)} {row.hostname && <span class="muted">{row.hostname}</span>}
        </h1>
        <span class={`state ${row.connected ? 'tone-good' : 'tone-warn'}`}>
          <Icon name={row.connected ? 'dot' : 'away'} size={13} />
          {row.connected ? words.connected : words.away} <Since at={row.since} long />
        </span>
      </div>
      <dl class="host-facts">
        {facts
          .filter(([, value]) => value)
          .map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
      </dl>
    </>
  );
}

function Processes({ host, sort, onSort }: { host: string; sort: string; onSort: (sort: string) => void }) {
  const filter = useMemo((): ProcessFilter => ({ host: [host] }), [host]);
  return (
    <ProcessTable
      filter={filter}
      sort={sort}
      onSort={onSort}
      label={t().tabs.processes}
      rowName={row => `${row.namespace}/${row.name}`}
      columns={usual => usual.filter(column => column.key !== 'host' && column.key !== 'agent')}
      empty={<Empty icon="processes" title={t().noProcesses} />}
    />
  );
}
