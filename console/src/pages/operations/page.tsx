/** Tasks and jobs in one list: those that go on first, then by time. */
import { useMemo, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { get } from '../../api/client';
import type { Business } from '../../api/types';
import { useData } from '../../api/use-data';
import { Button } from '../../components/button';
import '../../components/list-page.css';
import { Period } from '../../components/period';
import { Select } from '../../components/select';
import { Empty } from '../../components/states';
import { useTyping } from '../../components/use-typing';
import { t as common, opWord } from '../../i18n/common';
import { count } from '../../i18n/format';
import { language } from '../../i18n/i18n';
import { useLive } from '../../live/live';
import { useTitle } from '../../shell/title';
import { Table } from '../../table/table';
import { useRows } from '../../table/use-rows';
import { codec, text } from '../../url/codec';
import { useUrlState } from '../../url/state';
import { nameOf, operationColumns, pathOf } from './columns';
import {
  applyChange,
  JOB_ACTIONS,
  loadOperations,
  type OperationFilter,
  type OperationRow,
  TASK_ACTIONS,
} from './list';
import { t } from './strings';

const operationsState = codec<OperationFilter>({
  kind: text(),
  business: text(),
  action: text(),
  status: text(),
  user: text(),
  since: text(),
});

const NO_FILTER: OperationFilter = { kind: '', business: '', action: '', status: '', user: '', since: '' };

export default function OperationsPage() {
  const [state, set] = useUrlState(operationsState);
  const { route } = useLocation();
  const words = t();
  useTitle(words.title);
  const [typed, type] = useTyping(state.user, user => set({ user }));
  const [turn, setTurn] = useState(0);
  const [fresh, setFresh] = useState<ReadonlySet<string>>(new Set());
  const businesses = useData('businesses', signal => get<{ businesses: Business[] }>('/businesses', {}, signal));
  const names = new Map(businesses.data?.businesses.map(one => [one.id, one.name]));
  const columns = useMemo(
    () => operationColumns(id => names.get(id) ?? `${words.business} ${id}`),
    [language.value, businesses.data],
  );
  const load = useMemo(() => loadOperations(state), [JSON.stringify(state), turn]);
  const rows = useRows<OperationRow>(JSON.stringify([state, turn]), row => row.key, load);

  useLive({ kinds: ['task', 'job'] }, changes => {
    const unknown: string[] = [];
    for (const change of changes) {
      if (change.kind !== 'task' && change.kind !== 'job') continue;
      if (state.kind && state.kind !== change.kind) continue;
      const key = `${change.kind} ${change.id}`;
      if (!rows.patch(key, row => applyChange(row, change))) unknown.push(key);
    }
    // Whether they match the filter is known when they are asked for.
    if (unknown.length > 0) setFresh(known => new Set([...known, ...unknown]));
  });
  const reload = () => {
    setFresh(new Set());
    setTurn(turn + 1);
  };

  const filtered = Object.values(state).some(value => value !== '');
  const clear = () => set(NO_FILTER, 'push');
  // `manage` of tasks is `set_auto` of jobs: in the list of both one word would stand twice.
  const both = [...TASK_ACTIONS, ...JOB_ACTIONS.filter(action => !action.endsWith('set_auto'))];
  const actions = state.kind === 'job' ? JOB_ACTIONS : state.kind === 'task' ? TASK_ACTIONS : both;

  return (
    <div class="list-page">
      <div class="list-head">
        <h1>{words.title}</h1>
        <span class="line" role="group" aria-label={words.kind}>
          {(['', 'task', 'job'] as const).map(kind => (
            <Button
              key={kind}
              size="small"
              pressed={state.kind === kind}
              onClick={() => set({ kind, ...(kind === 'task' ? { business: '' } : {}) }, 'push')}
            >
              {words.kinds[kind || 'all']}
            </Button>
          ))}
        </span>
        <Select
          label={words.status}
          value={state.status}
          choices={[
            { value: '', label: words.statuses.any },
            ...(['running', 'succeeded', 'failed'] as const).map(value => ({ value, label: words.statuses[value] })),
          ]}
          onChange={status => set({ status }, 'push')}
        />
        <Select
          label={words.action}
          value={state.action}
          choices={[
            { value: '', label: words.anyAction },
            ...[...new Set(actions)].map(value => ({ value, label: opWord(value) })),
          ]}
          onChange={action => set({ action }, 'push')}
        />
        {names.size > 0 && state.kind !== 'task' && (
          <Select
            label={words.business}
            value={state.business}
            choices={[
              { value: '', label: words.anyBusiness },
              ...[...names].map(([id, name]) => ({ value: String(id), label: name })),
            ]}
            onChange={business => set({ business }, 'push')}
          />
        )}
        <Period label={words.since} value={state.since} onChange={since => set({ since }, 'push')} />
        <input
          class="input input-small list-find"
          type="search"
          placeholder={words.user}
          aria-label={words.user}
          value={typed}
          onInput={event => type(event.currentTarget.value)}
        />
        <span class="grow" />
        {fresh.size > 0 && (
          <Button size="small" icon="reload" onClick={reload}>
            {common().table.fresh(count(fresh.size))}
          </Button>
        )}
      </div>
      <Table
        rows={rows}
        columns={columns}
        label={words.title}
        rowName={nameOf}
        onOpen={row => route(pathOf(row))}
        empty={
          filtered ? (
            <Empty icon="operations" title={words.nothing} action={<Button onClick={clear}>{words.clear}</Button>} />
          ) : (
            <Empty icon="operations" title={words.none}>
              {words.noneText}
            </Empty>
          )
        }
      />
    </div>
  );
}
