/** One process on all its hosts. */
import { useMemo } from 'preact/hooks';
import { useLocation, useRoute } from 'preact-iso';
import { facets, process as loadProcess, tasks as loadTasks } from '../../api/calls';
import { may } from '../../api/session';
import type { Operation, ProcessDetail, ProcessFilter } from '../../api/types';
import { useData } from '../../api/use-data';
import { Button } from '../../components/button';
import { Icon } from '../../components/icon';
import '../../components/list-page.css';
import { Menu } from '../../components/menu';
import { ProgressBadge } from '../../components/state-badge';
import { StateBar } from '../../components/state-bar';
import { Empty, Loaded } from '../../components/states';
import { Tabs } from '../../components/tabs';
import { Ago } from '../../components/time';
import { opWord, reasonWord } from '../../i18n/common';
import { count, hostText } from '../../i18n/format';
import { useLive } from '../../live/live';
import { askOperation } from '../../operate/host';
import { OPERATIONS } from '../../process/actions';
import { ProcessTable } from '../../process/process-table';
import { SpecView } from '../../process/spec';
import { versionsText } from '../../process/versions';
import { TimelineList } from '../../process/why';
import { useTitle } from '../../shell/title';
import { choice, codec, text } from '../../url/codec';
import { paths } from '../../url/paths';
import { useUrlState } from '../../url/state';
import { History } from './history';
import './process.css';
import { t } from './strings';

const TABS = ['hosts', 'spec', 'history', 'events', 'operations'] as const;
const pageState = codec<{ tab: (typeof TABS)[number]; sort: string }>({ tab: choice(TABS, 'hosts'), sort: text() });

export default function ProcessPage() {
  const { params } = useRoute();
  const namespace = params.namespace ?? '';
  const name = params.name ?? '';
  const process = `${namespace}/${name}`;
  const [{ tab, sort }, set] = useUrlState(pageState);
  const filter = useMemo((): ProcessFilter => ({ namespace: [namespace], name: [name] }), [process]);
  const detail = useData(process, signal => loadProcess(process, { limit: 1 }, signal));
  const words = t();
  useTitle(process);
  useLive({ kinds: ['registration'], prefix: `${process}@` }, detail.reload);

  return (
    <div class={tab === 'hosts' ? 'list-page' : 'page'}>
      <div class={tab === 'hosts' ? 'list-top' : 'stack'}>
        <nav class="crumbs" aria-label={words.processes}>
          <a href={paths.processes()}>{words.processes}</a>
          <Icon name="right" size={12} />
          <a href={paths.processes({ ns: namespace })}>{namespace}</a>
        </nav>
        <div class="page-head">
          <h1>{process}</h1>
          {detail.data && <span class="muted">{words.onHosts(detail.data.count, count(detail.data.count))}</span>}
          <States filter={filter} process={process} />
          {detail.data && detail.data.definitions.length > 1 && (
            <span class="muted">{versionsText(detail.data.definitions)}</span>
          )}
          <span class="grow" />
          <AllMenu filter={filter} namespace={namespace} total={detail.data?.count ?? 0} />
        </div>
        <Tabs
          label={words.views}
          active={tab}
          tabs={TABS.map(one => ({
            key: one,
            label: words.tabs[one],
            href: paths.process(process, one === 'hosts' ? {} : { tab: one }),
          }))}
        />
      </div>
      {tab === 'hosts' && <HostsTab filter={filter} sort={sort} onSort={next => set({ sort: next })} />}
      {tab === 'spec' && (
        <Loaded {...detail} lines={10}>
          {data => (
            <div class="stack">
              <EditLink process={process} blocked={editBlocked(data, namespace)} />
              {data.definitions.length > 1 && <p class="note">{words.specs(count(data.definitions.length))}</p>}
              {data.definitions.map(definition => (
                <SpecView key={definition.id} definition={definition} />
              ))}
            </div>
          )}
        </Loaded>
      )}
      {tab === 'history' && <History process={process} blocked={editBlocked(detail.data, namespace)} />}
      {tab === 'events' && <TimelineList process={process} />}
      {tab === 'operations' && <Operations process={process} />}
    </div>
  );
}

function States({ filter, process }: { filter: ProcessFilter; process: string }) {
  const answer = useData(`states ${process}`, signal => facets(['state'], filter, signal));
  useLive({ kinds: ['status'], prefix: `${process}@` }, answer.reload);
  const values = answer.data?.facets[0]?.values;
  if (!values) return null;
  return (
    <span class="process-states">
      <StateBar label={t().states} states={Object.fromEntries(values.map(one => [String(one.value), one.count]))} />
    </span>
  );
}

/** Why its definition cannot be changed here. */
function editBlocked(detail: ProcessDetail | null, namespace: string): string | null {
  if (!may('operator', { namespace })) return reasonWord('role');
  if (detail && detail.count === 0) return reasonWord('not_registered');
  return detail?.processes.some(row => row.business !== null) ? t().ofBusiness : null;
}

function EditLink({ process, blocked }: { process: string; blocked: string | null }) {
  const { route } = useLocation();
  return (
    <div class="line">
      <span class="grow" />
      <Button icon="edit" blocked={blocked} onClick={() => route(paths.definition(process))}>
        {t().edit}
      </Button>
    </div>
  );
}

function AllMenu({ filter, namespace, total }: { filter: ProcessFilter; namespace: string; total: number }) {
  const blocked = may('operator', { namespace }) || may('operator') ? null : reasonWord('role');
  return (
    <Menu
      side="right"
      icon="operations"
      items={OPERATIONS.map(({ op, icon }) => ({
        label: opWord(op),
        icon,
        blocked,
        onSelect: () => askOperation(op as Operation, { kind: 'query', filter, except: [], count: total }),
      }))}
    >
      {t().all}
    </Menu>
  );
}

function HostsTab({ filter, sort, onSort }: { filter: ProcessFilter; sort: string; onSort: (sort: string) => void }) {
  return (
    <ProcessTable
      filter={filter}
      sort={sort}
      onSort={onSort}
      label={t().tabs.hosts}
      rowName={row => row.host}
      columns={usual =>
        usual
          .filter(column => column.key !== 'process')
          .map(column => (column.key === 'host' ? { ...column, rank: 0, cell: hostCell } : column))
      }
      empty={
        <Empty icon="processes" title={t().none}>
          {t().noneText}
        </Empty>
      }
    />
  );
}

const hostCell = (row: { namespace: string; name: string; host: string; hostname?: string | null }) => (
  <a href={paths.instance(`${row.namespace}/${row.name}`, row.host)}>
    {hostText(row.host)}
    {row.hostname && <span class="muted"> {row.hostname}</span>}
  </a>
);

function Operations({ process }: { process: string }) {
  const answer = useData(`tasks ${process}`, signal => loadTasks({ process, limit: 100 }, signal));
  return (
    <Loaded {...answer} lines={6}>
      {({ tasks }) =>
        tasks.length === 0 ? (
          <Empty icon="operations" title={t().noOperations} />
        ) : (
          <ul class="operation-list">
            {tasks.map(task => (
              <li key={task.id} class="line">
                <ProgressBadge
                  state={task.state === 'running' ? 'running' : task.failed > 0 ? 'failed' : 'ok'}
                  text={`${count(task.ok)} / ${count(task.targets)}`}
                />
                <a href={paths.task(task.id)}>{task.op ? opWord(task.op) : task.id}</a>
                <span class="muted grow">{task.user || task.app}</span>
                <span class="muted">
                  <Ago at={task.created_at} />
                </span>
              </li>
            ))}
          </ul>
        )
      }
    </Loaded>
  );
}
