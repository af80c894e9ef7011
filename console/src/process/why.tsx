/** Why a process is as it is: one sentence, the output of the run that ended, and what happened in order. */
import { useState } from 'preact/hooks';
import { why } from '../api/calls';
import { get } from '../api/client';
import { ApiError } from '../api/errors';
import type { Process, Timeline, TimelineEntry, Why } from '../api/types';
import { useData } from '../api/use-data';
import { Button } from '../components/button';
import { Icon, type IconName } from '../components/icon';
import { toneOf } from '../components/state-badge';
import { ErrorBox, errorText, Loaded, Skeleton } from '../components/states';
import { Ago, Since, Time } from '../components/time';
import { reasonWord } from '../i18n/common';
import { useLive } from '../live/live';
import { AnsiLines } from '../logs/ansi-lines';
import { paths } from '../url/paths';
import { exitWords } from './exit';
import { causeText, entryText, whyText } from './sentences';
import { t } from './strings';
import { grouped } from './timeline';
import './why.css';

interface WhyProps {
  process: string;
  host: string;
  row: Process;
}

/** The sentence on top. */
export function WhySentence({ process, host, row }: WhyProps) {
  const answer = useData(`why ${process} ${host} ${row.state} ${row.restarts}`, signal => why(process, host, signal));
  const said = answer.data && whyText(answer.data, row.message);
  const text = said || row.message || exitWords(row.last_exit) || t().noWhy;
  return (
    <div class={`why why-${toneOf(row.state)}`}>
      <p class="why-text">{text}</p>
      {answer.data && answer.data.since > 0 && (
        <p class="muted">
          {t().forTime} <Since at={answer.data.since} long />
        </p>
      )}
      {answer.data && <WhyMore why={answer.data} said={text} />}
      {row.restart_needed && (
        <p class="line why-restart">
          <Icon name="info" size={14} /> {t().restartNeeded}
        </p>
      )}
    </div>
  );
}

/** Why the last run ended, what the agent tried, and what comes next. */
function WhyMore({ why: { cause, tried, next }, said }: { why: Why; said: string }) {
  const words = t();
  const ended = cause && causeText(cause);
  if (!ended && tried === 0 && next === null) return null;
  return (
    <dl class="facts why-more">
      {cause && ended && (
        <>
          <dt>{words.lastEnded}</dt>
          <dd>
            {/* The sentence on top may say the same. */}
            {said.includes(ended) ? null : `${ended} · `}
            <Ago at={cause.at} />
          </dd>
        </>
      )}
      {tried > 0 && (
        <>
          <dt>{words.tried}</dt>
          <dd>{words.triedTimes(tried)}</dd>
        </>
      )}
      {next !== null && next !== undefined && (
        <>
          <dt>{words.next}</dt>
          <dd>
            {words.startsAt} <Time at={next} />
          </dd>
        </>
      )}
    </dl>
  );
}

/** The end of what the run wrote: of the one that died, where it did. */
export function LastOutput({ process, host, row, lines = 20 }: WhyProps & { lines?: number }) {
  const key = row.connected ? `output ${process} ${host} ${row.state} ${row.restarts} ${lines}` : null;
  const answer = useData(key, signal => get<string>(`/processes/${process}/logs`, { host, tail: lines }, signal));
  const ended = row.state === 'failed' || row.state === 'backoff' || row.state === 'stopped';
  return (
    <section class="stack-tight">
      <div class="line">
        <h2 class="minor grow">{ended ? t().lastOutputEnded : t().lastOutput}</h2>
        <a href={paths.instance(process, host, { tab: 'logs' })}>{t().allLogs}</a>
      </div>
      {!row.connected ? (
        <p class="muted">{reasonWord('agent_away')}</p>
      ) : answer.error instanceof ApiError && answer.error.missingRole ? (
        <p class="muted">{errorText(answer.error)}</p>
      ) : answer.error instanceof ApiError && answer.error.status === 404 ? (
        <p class="muted">{t().noOutput}</p>
      ) : (
        <Loaded {...answer}>
          {text =>
            text.trim() === '' ? (
              <p class="muted">{t().noOutput}</p>
            ) : (
              <AnsiLines lines={text.replace(/\n$/, '').split('\n')} />
            )
          }
        </Loaded>
      )}
    </section>
  );
}

const KIND_ICONS: Record<string, IconName> = {
  event: 'events',
  operation: 'operations',
  agent: 'hosts',
  spec: 'templates',
  config: 'templates',
  health: 'operations',
};

export function TimelineList({ process, host, limit = 50 }: { process?: string; host?: string; limit?: number }) {
  const [pages, setPages] = useState<TimelineEntry[]>([]);
  const [next, setNext] = useState<string | number | null | undefined>(undefined);
  const [error, setError] = useState<Error | null>(null);
  const answer = useData(`timeline ${process} ${host}`, signal =>
    get<Timeline>('/timeline', { process, host, limit }, signal),
  );
  useLive(process ? { kinds: ['event', 'task'], prefix: `${process}@${host ?? ''}` } : null, () => answer.reload());
  if (!answer.data)
    return answer.error ? <ErrorBox error={answer.error} retry={answer.reload} /> : <Skeleton lines={5} />;
  const entries = [...answer.data.entries, ...pages];
  const before = next === undefined ? answer.data.next : next;
  if (entries.length === 0) return <p class="muted">{t().noTimeline}</p>;
  const older = () =>
    get<Timeline>('/timeline', { process, host, limit, before }).then(
      page => {
        setPages([...pages, ...page.entries]);
        setNext(page.next);
      },
      (failed: Error) => setError(failed),
    );
  return (
    <>
      <ol class="timeline">
        {grouped(entries).map(({ entry, count: times, since }) => (
          <li key={entry.id} class={`timeline-entry timeline-${entry.kind}`}>
            <span class="timeline-icon" title={(t().kinds as Record<string, string>)[entry.kind] ?? entry.kind}>
              <Icon name={KIND_ICONS[entry.kind] ?? 'info'} size={13} />
            </span>
            <div class="grow">
              <p class="timeline-text">
                {entryText(entry)}
                {entry.task_id && (
                  <>
                    {' '}
                    <a href={paths.task(entry.task_id)}>{t().kinds.operation}</a>
                  </>
                )}
              </p>
              <p class="muted timeline-note">
                <Ago at={entry.at} />
                {times > 1 && (
                  <>
                    {' · '}
                    {t().times(times)} <Ago at={since} />
                  </>
                )}
                {(entry.user || entry.app) && ` · ${t().by(entry.user || entry.app || '')}`}
                {entry.from && ` · ${entry.from}`}
              </p>
            </div>
          </li>
        ))}
      </ol>
      {error && <ErrorBox error={error} />}
      {before !== null && (
        <Button size="small" onClick={older}>
          {t().older}
        </Button>
      )}
    </>
  );
}
