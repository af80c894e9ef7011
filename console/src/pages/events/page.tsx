/** What happened to processes without anyone asking, newest first. */
import { useMemo, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { events as loadEvents } from '../../api/calls';
import type { EventRow } from '../../api/types';
import { Button } from '../../components/button';
import '../../components/list-page.css';
import { momentOf, Period } from '../../components/period';
import { Empty } from '../../components/states';
import { useTyping } from '../../components/use-typing';
import { t as common } from '../../i18n/common';
import { count, dateTime } from '../../i18n/format';
import { language } from '../../i18n/i18n';
import { useLive } from '../../live/live';
import { useTitle } from '../../shell/title';
import { byCursor } from '../../table/cursor';
import { Table } from '../../table/table';
import { useRows } from '../../table/use-rows';
import { codec, list, text } from '../../url/codec';
import { paths } from '../../url/paths';
import { useUrlState } from '../../url/state';
import { eventColumns, KINDS, kindWord } from './columns';
import './events.css';
import { t } from './strings';

interface EventsState {
  ns: string;
  name: string;
  host: string;
  kind: string[];
  since: string;
  until: string;
}

const eventsState = codec<EventsState>({
  ns: text(),
  name: text(),
  host: text(),
  kind: list(),
  since: text(),
  until: text(),
});

const NO_FILTER: EventsState = { ns: '', name: '', host: '', kind: [], since: '', until: '' };

/** Whether an event of the stream belongs to the list; a host may be written with or without its cloud. */
function matches(state: EventsState, event: EventRow): boolean {
  const [namespace, name] = event.process.split('/');
  const some = (wanted: string, has: (value: string) => boolean) => wanted === '' || wanted.split(',').some(has);
  return (
    some(state.ns, value => value === namespace) &&
    (state.name === '' || state.name === name) &&
    some(state.host, value => value === event.host || event.host.endsWith(`:${value}`)) &&
    (state.kind.length === 0 || state.kind.includes(event.kind)) &&
    state.until === ''
  );
}

export default function EventsPage() {
  const [state, set] = useUrlState(eventsState);
  const { route } = useLocation();
  const words = t();
  useTitle(words.title);
  const [turn, setTurn] = useState(0);
  const [fresh, setFresh] = useState(0);
  const columns = useMemo(eventColumns, [language.value]);
  const key = JSON.stringify([state, turn]);
  const load = useMemo(() => {
    const { ns, name, host, kind, since, until } = state;
    // One moment for all pages, so that the list does not lose rows at its end while someone scrolls.
    const query = { namespace: ns, name, host, kind, since: momentOf(since, Date.now()), until };
    return byCursor<EventRow, number>(0, async (before, limit, signal) => {
      const page = await loadEvents({ ...query, limit, before: before || null }, signal);
      return { rows: page.events, next: page.next };
    });
  }, [key]);
  const rows = useRows<EventRow>(key, row => String(row.id), load);
  useLive({ kinds: ['event'] }, changes => {
    const more = changes.filter(change => change.kind === 'event' && matches(state, change.event)).length;
    if (more > 0) setFresh(known => known + more);
  });
  const reload = () => {
    setFresh(0);
    setTurn(turn + 1);
  };
  const change = (patch: Partial<EventsState>) => {
    setFresh(0);
    set(patch, 'push');
  };

  const filtered = JSON.stringify(state) !== JSON.stringify(NO_FILTER);
  const until = momentOf(state.until, Date.now());
  return (
    <div class="list-page">
      <div class="list-head">
        <h1>{words.title}</h1>
        <Field label={words.namespace} value={state.ns} onChange={ns => set({ ns })} />
        <Field label={words.name} value={state.name} onChange={name => set({ name })} />
        <Field label={words.host} value={state.host} onChange={host => set({ host })} />
        <Period label={words.since} value={state.since} onChange={since => change({ since })} />
        {until !== null && (
          <Button size="small" icon="close" title={words.anyUntil} onClick={() => change({ until: '' })}>
            {words.until(dateTime(until))}
          </Button>
        )}
        <span class="grow" />
        {filtered && (
          <Button size="small" kind="quiet" onClick={() => change(NO_FILTER)}>
            {words.clear}
          </Button>
        )}
        {fresh > 0 && (
          <Button size="small" icon="reload" onClick={reload}>
            {common().table.fresh(count(fresh))}
          </Button>
        )}
        <span class="line events-kinds" role="group" aria-label={words.kind}>
          {[...new Set([...KINDS, ...state.kind])].map(kind => {
            const pressed = state.kind.includes(kind);
            return (
              <Button
                key={kind}
                size="small"
                pressed={pressed}
                onClick={() =>
                  change({ kind: pressed ? state.kind.filter(one => one !== kind) : [...state.kind, kind] })
                }
              >
                {kindWord(kind)}
              </Button>
            );
          })}
        </span>
      </div>
      <Table
        rows={rows}
        columns={columns}
        label={words.title}
        rowName={row => `${kindWord(row.kind)} ${row.process}`}
        onOpen={row => route(paths.instance(row.process, row.host))}
        empty={
          filtered ? (
            <Empty
              icon="events"
              title={words.nothing}
              action={<Button onClick={() => change(NO_FILTER)}>{words.clear}</Button>}
            />
          ) : (
            <Empty icon="events" title={words.none}>
              {words.noneText}
            </Empty>
          )
        }
      />
    </div>
  );
}

function Field({ label, value, onChange }: { label: string; value: string; onChange: (value: string) => void }) {
  const [typed, type] = useTyping(value, onChange);
  return (
    <input
      class="input input-small events-field"
      type="search"
      placeholder={label}
      aria-label={label}
      value={typed}
      onInput={event => type(event.currentTarget.value)}
    />
  );
}
