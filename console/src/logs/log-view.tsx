/**
 * The output of a process: followed live, bounded in memory and in the DOM. A hidden tab does not follow, and of all tabs only
 * two do, because each follow takes one of the six connections that a browser opens to a server.
 */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { queryOf } from '../api/client';
import { isAbort } from '../api/errors';
import { Button } from '../components/button';
import { copyText } from '../components/copy-button';
import '../components/field.css';
import { ErrorBox } from '../components/states';
import { count } from '../i18n/format';
import { useFollowSlot } from '../live/live';
import { withoutAnsi } from './ansi';
import { AnsiText } from './ansi-lines';
import { followLog, logPath } from './follow';
import './log-view.css';
import { LineRing, MatchingLines } from './ring';
import { MOST_FOLLOWS } from './slots';
import { t } from './strings';

const TAIL = 2000;
/** Lines in the DOM at first, and with each click on "earlier". */
const WINDOW = 800;
/** The page draws new lines at most this often. */
const DRAW_EVERY_MS = 100;

export function LogView({ process, host }: { process: string; host: string }) {
  const ring = useMemo(() => new LineRing(), [process, host]);
  const matching = useMemo(() => new MatchingLines(withoutAnsi), [ring]);
  const [previous, setPrevious] = useState(false);
  const [paused, setPaused] = useState(false);
  const [wrap, setWrap] = useState(true);
  const [filter, setFilter] = useState('');
  const [error, setError] = useState<Error | null>(null);
  const [end, setEnd] = useState<string | null>(null);
  const [extra, setExtra] = useState(0);
  const [visible, setVisible] = useState(!document.hidden);
  const [attempt, setAttempt] = useState(0);
  const [drawn, draw] = useState(0);
  const frozen = useRef<string[] | null>(null);
  const scroller = useRef<HTMLPreElement>(null);
  const sticks = useRef(true);
  const pausedAt = useRef(0);
  const words = t();

  useEffect(() => {
    const changed = () => {
      setVisible(!document.hidden);
      if (!document.hidden) setEnd(null);
    };
    document.addEventListener('visibilitychange', changed);
    return () => document.removeEventListener('visibilitychange', changed);
  }, []);

  const slot = useFollowSlot(visible && !previous && end === null);
  // Without a place to follow, the last lines are read once.
  const mode = previous || slot.state === 'full' ? 'once' : slot.state === 'granted' ? 'follow' : 'idle';

  useEffect(() => {
    if (!visible || mode === 'idle') return;
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const soon = () => {
      timer ??= setTimeout(() => {
        timer = undefined;
        draw(n => n + 1);
      }, DRAW_EVERY_MS);
    };
    ring.clear();
    setEnd(null);
    setError(null);
    followLog(
      { process, host, previous, follow: mode === 'follow', tail: TAIL },
      {
        text: text => {
          ring.push(text);
          soon();
        },
        end: why => {
          if (slot.state !== 'full') setEnd(why);
          soon();
        },
      },
      abort.signal,
    ).catch(failed => {
      if (!abort.signal.aborted && !isAbort(failed)) setError(failed);
    });
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [ring, previous, visible, attempt, mode]);

  const wanted = filter.toLowerCase();
  const most = WINDOW + extra;
  const { shown, number } = useMemo(() => {
    const frozenLines = paused ? frozen.current : null;
    if (frozenLines) {
      const all = wanted ? frozenLines.filter(line => withoutAnsi(line).toLowerCase().includes(wanted)) : frozenLines;
      return { shown: all.slice(-most), number: all.length };
    }
    if (wanted) {
      const all = matching.of(ring, wanted);
      return { shown: all.slice(-most), number: all.length };
    }
    const last = ring.last(most);
    return { shown: ring.pendingLine ? [...last, ring.pendingLine] : last, number: ring.length };
  }, [drawn, paused, ring, wanted, most]);
  const from = Math.max(0, number - shown.length);

  useEffect(() => {
    const element = scroller.current;
    if (element && sticks.current && !paused) element.scrollTop = element.scrollHeight;
  }, [drawn, wrap, wanted, paused]);

  const setPause = (on: boolean) => {
    frozen.current = on ? ring.all() : null;
    pausedAt.current = ring.total;
    if (!on) sticks.current = true;
    setPaused(on);
  };
  const choose = (before: boolean) => {
    setEnd(null);
    setPrevious(before);
  };
  const more = paused ? ring.total - pausedAt.current : 0;

  return (
    <div class="log">
      <div class="log-bar">
        <Button size="small" icon={paused ? 'start' : 'pause'} pressed={paused} onClick={() => setPause(!paused)}>
          {paused ? words.follow : words.pause}
        </Button>
        <span class="muted nowrap" role="status">
          {end !== null
            ? words.ended
            : slot.state === 'full' || slot.state === 'taken'
              ? words.notFollowing
              : paused
                ? more > 0
                  ? words.newer(count(more))
                  : words.paused
                : ring.length === 0
                  ? words.waiting
                  : words.following}
        </span>
        <input
          class="input input-small log-filter"
          type="search"
          placeholder={words.filter}
          aria-label={words.filter}
          value={filter}
          onInput={event => setFilter(event.currentTarget.value)}
        />
        <span class="log-runs" role="group" aria-label={words.run}>
          <Button size="small" pressed={!previous} onClick={() => choose(false)}>
            {words.current}
          </Button>
          <Button size="small" pressed={previous} onClick={() => choose(true)}>
            {words.previous}
          </Button>
        </span>
        <span class="grow" />
        <span class="muted nowrap">{words.lines(count(number))}</span>
        <Button
          size="small"
          kind="quiet"
          icon="wrap"
          label={words.wrap}
          pressed={wrap}
          onClick={() => setWrap(!wrap)}
        />
        <Button
          size="small"
          kind="quiet"
          icon="copy"
          label={words.copy}
          onClick={() => void copyText(shown.map(withoutAnsi).join('\n'))}
        />
        <a
          class="button button-small button-quiet"
          href={`/api/v1${logPath(process)}${queryOf({ host, tail: 100_000, ...(previous ? { previous: true } : {}) })}`}
          download={`${process.replace('/', '-')}.log`}
          target="_blank"
          rel="noreferrer"
        >
          {words.download}
        </a>
      </div>
      {(slot.state === 'full' || slot.state === 'taken') && (
        <div class="note note-warn line log-full" role="status">
          <span class="grow">{slot.state === 'full' ? words.full(MOST_FOLLOWS) : words.taken(MOST_FOLLOWS)}</span>
          <Button size="small" onClick={slot.take}>
            {words.followHere}
          </Button>
        </div>
      )}
      {error && <ErrorBox error={error} retry={() => setAttempt(attempt + 1)} />}
      <pre
        class={`log-lines ${wrap ? '' : 'log-nowrap'}`}
        role="region"
        ref={scroller}
        tabIndex={0}
        aria-label={words.label}
        onScroll={event => {
          const { scrollTop, scrollHeight, clientHeight } = event.currentTarget;
          sticks.current = scrollHeight - scrollTop - clientHeight < 24;
        }}
      >
        {ring.dropped > 0 && !wanted && from === 0 && <div class="log-note">{words.dropped(count(ring.dropped))}</div>}
        {from > 0 && (
          <button type="button" class="log-earlier" onClick={() => setExtra(extra + WINDOW)}>
            {words.earlier(count(Math.min(WINDOW, from)))}
          </button>
        )}
        {shown.map((line, index) => (
          <div key={wanted ? from + index : from + index + ring.dropped} class="log-line">
            <AnsiText line={line} />
            {line === '' && ' '}
          </div>
        ))}
        {shown.length === 0 && end !== null && (
          <div class="log-note">{wanted ? words.nothingMatches : words.nothing}</div>
        )}
        {end && <div class="log-note">{words.stopped(end)}</div>}
      </pre>
    </div>
  );
}
