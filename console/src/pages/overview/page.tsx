/** What is wrong now, and what happened last. */
import { events as loadEvents, summary as loadSummary, tasks as loadTasks } from '../../api/calls';
import type { EventRow, Summary, TaskRow } from '../../api/types';
import { useData } from '../../api/use-data';
import '../../components/field.css';
import { Icon } from '../../components/icon';
import { ProgressBadge } from '../../components/state-badge';
import { Bar } from '../../components/state-bar';
import { Empty, ErrorBox, Loaded, Skeleton } from '../../components/states';
import { Ago } from '../../components/time';
import { opWord } from '../../i18n/common';
import { count, hostText } from '../../i18n/format';
import { useLive } from '../../live/live';
import { eventText } from '../../process/sentences';
import { useTitle } from '../../shell/title';
import { paths } from '../../url/paths';
import { FirstSteps } from './first-steps';
import { Groups } from './groups';
import './overview.css';
import { StatesChart } from './states-chart';
import { t } from './strings';

const LATEST = 20;

export default function OverviewPage() {
  useTitle(t().title);
  const summary = useData('summary', loadSummary);
  useLive({ kinds: ['summary'] }, changes => {
    const last = changes[changes.length - 1];
    if (last?.kind === 'summary') summary.patch(() => last);
  });
  if (summary.data?.processes === 0) return <FirstSteps hosts={summary.data.hosts} />;
  return (
    <div class="page">
      <h1>{t().title}</h1>
      {summary.data ? (
        <Tiles summary={summary.data} />
      ) : summary.error ? (
        <ErrorBox error={summary.error} retry={summary.reload} />
      ) : (
        <Skeleton />
      )}
      <StatesChart />
      <div class="overview-columns">
        <Groups />
        <div class="stack">
          <LatestOperations />
          <LatestEvents />
        </div>
      </div>
    </div>
  );
}

function Tiles({ summary }: { summary: Summary }) {
  const words = t().tiles;
  const away = summary.hosts - summary.agents_up;
  const operations = summary.tasks_running + summary.jobs_running;
  const problems = [
    {
      key: 'down',
      label: words.down,
      value: summary.wanted_down,
      tone: 'bad',
      href: paths.processes({
        wanted: 'running',
        state: 'failed,backoff,stopped,starting',
        connected: true,
        sort: 'state',
      }),
    },
    {
      key: 'gaveUp',
      label: words.gaveUp,
      value: summary.gave_up,
      tone: 'bad',
      href: paths.processes({ state: 'failed' }),
    },
    {
      key: 'unhealthy',
      label: words.unhealthy,
      value: summary.unhealthy,
      tone: 'warn',
      href: paths.processes({ state: 'unhealthy' }),
    },
    {
      key: 'agentsAway',
      label: words.agentsAway,
      value: away,
      tone: 'warn',
      href: paths.hosts({ connected: false }),
      note: t().of(count(summary.hosts)),
    },
    {
      key: 'restartNeeded',
      label: words.restartNeeded,
      value: summary.restart_needed,
      tone: 'info',
      href: paths.processes({ restart: true }),
    },
    ...(summary.config_drift > 0
      ? [{ key: 'drift', label: words.drift, value: summary.config_drift, tone: 'warn', href: paths.processes() }]
      : []),
  ];
  return (
    <ul class="tiles">
      <li>
        <a class="tile" href={paths.processes({ state: 'running,ready' })}>
          <span class="tile-value">{count((summary.states.running ?? 0) + (summary.states.ready ?? 0))}</span>
          <span class="tile-label">
            <Icon name="dot" size={12} /> {words.running}
          </span>
          <span class="tile-note">{t().of(count(summary.processes))}</span>
        </a>
      </li>
      {problems.map(tile => (
        <li key={tile.key}>
          <a class={`tile ${tile.value > 0 ? `tile-${tile.tone}` : 'tile-zero'}`} href={tile.href}>
            <span class="tile-value">{count(tile.value)}</span>
            <span class="tile-label">{tile.label}</span>
            {tile.note && <span class="tile-note">{tile.note}</span>}
          </a>
        </li>
      ))}
      <li>
        <a class={`tile ${operations > 0 ? 'tile-info' : 'tile-zero'}`} href={paths.ops({ status: 'running' })}>
          <span class="tile-value">{count(operations)}</span>
          <span class="tile-label">{words.operations}</span>
        </a>
      </li>
    </ul>
  );
}

function LatestEvents() {
  const answer = useData('events', signal => loadEvents({ limit: LATEST }, signal));
  useLive({ kinds: ['event'] }, changes => {
    const fresh = changes.flatMap(change => (change.kind === 'event' ? [change.event] : [])).reverse();
    answer.patch(page => ({ ...page, events: [...fresh, ...page.events].slice(0, LATEST) }));
  });
  return (
    <section class="card">
      <h2 class="card-head">{t().events}</h2>
      <div class="card-body">
        <Loaded {...answer} lines={6}>
          {({ events }) => (events.length === 0 ? <p class="muted">{t().noEvents}</p> : <EventList events={events} />)}
        </Loaded>
      </div>
    </section>
  );
}

function EventList({ events }: { events: EventRow[] }) {
  return (
    <ul class="latest">
      {events.map((event, index) => (
        <li key={event.id ?? `${event.at} ${event.process} ${index}`}>
          <a class="latest-name ellipsis" href={paths.instance(event.process, event.host)}>
            {event.process} <span class="muted">{hostText(event.host)}</span>
          </a>
          <span class="latest-when muted">
            <Ago at={event.at} />
          </span>
          <span class="latest-text ellipsis" title={eventText(event.kind, event.reason)}>
            {eventText(event.kind, event.reason)}
          </span>
        </li>
      ))}
    </ul>
  );
}

function LatestOperations() {
  const answer = useData('tasks', signal => loadTasks({ limit: 8 }, signal));
  useLive({ kinds: ['task'] }, changes => {
    const known = new Set(answer.data?.tasks.map(task => task.id));
    if (changes.some(change => change.kind === 'task' && !known.has(change.id))) {
      answer.reload();
      return;
    }
    answer.patch(page => ({
      ...page,
      tasks: page.tasks.map(task => {
        const change = changes.find(one => one.kind === 'task' && one.id === task.id);
        if (change?.kind !== 'task') return task;
        return { ...task, state: change.state, ended: change.ended, ok: change.ok, failed: change.ended - change.ok };
      }),
    }));
  });
  return (
    <section class="card">
      <h2 class="card-head">{t().operations}</h2>
      <div class="card-body">
        <Loaded {...answer} lines={4}>
          {({ tasks }) =>
            tasks.length === 0 ? <Empty icon="operations" title={t().noOperations} /> : <TaskList tasks={tasks} />
          }
        </Loaded>
      </div>
    </section>
  );
}

function TaskList({ tasks }: { tasks: TaskRow[] }) {
  return (
    <ul class="latest">
      {tasks.map(task => (
        <li key={task.id}>
          <a class="latest-name ellipsis" href={paths.task(task.id)}>
            {task.op ? opWord(task.op) : ''} {task.process}
            {task.processes > 1 && <span class="muted"> +{count(task.processes - 1)}</span>}
          </a>
          <span class="latest-when muted">
            {task.user && `${task.user} · `}
            <Ago at={task.created_at} />
          </span>
          <span class="latest-text line">
            <ProgressBadge
              state={task.state === 'running' ? 'running' : task.failed > 0 ? 'failed' : 'ok'}
              text={`${count(task.ok)} / ${count(task.targets)}`}
            />
            <span class="latest-bar">
              <Bar
                label={task.id}
                parts={[
                  { key: 'ok', word: t().good, tone: 'good', count: task.ok },
                  { key: 'failed', word: t().bad, tone: 'bad', count: task.failed },
                  { key: 'rest', word: t().idle, tone: 'idle', count: task.targets - task.ended },
                ]}
              />
            </span>
          </span>
        </li>
      ))}
    </ul>
  );
}
