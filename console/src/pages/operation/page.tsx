/** An operation, task or job: how far it is, failures grouped by reason, each target by page. */

import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useRoute } from 'preact-iso';
import { ApiError } from '../../api/errors';
import { may } from '../../api/session';
import type { OperateOptions } from '../../api/types';
import { useData } from '../../api/use-data';
import { Button } from '../../components/button';
import { Confirm } from '../../components/confirm';
import { CopyButton } from '../../components/copy-button';
import '../../components/field.css';
import { ProgressBadge } from '../../components/state-badge';
import { Bar } from '../../components/state-bar';
import { Empty, errorText, Loaded } from '../../components/states';
import { Ago } from '../../components/time';
import { toast } from '../../components/toast';
import { t as common, opWord, reasonWord } from '../../i18n/common';
import { count, decimal, duration } from '../../i18n/format';
import { language } from '../../i18n/i18n';
import { useKeys } from '../../keys/keys';
import { useLive } from '../../live/live';
import { rollSentences } from '../../operate/roll-fields';
import { versionsText } from '../../process/versions';
import { useTitle } from '../../shell/title';
import { Table } from '../../table/table';
import { useRows } from '../../table/use-rows';
import { codec, text } from '../../url/codec';
import { paths } from '../../url/paths';
import { useUrlState } from '../../url/state';
import { Failures } from './failures';
import './operation.css';
import { Pace } from './pace';
import { resultColumns } from './result-columns';
import { ResultDrawer } from './result-drawer';
import {
  cancelJob,
  jobSource,
  type Operation,
  over,
  pauseJob,
  type ResultRow,
  resumeJob,
  revertJob,
  type Source,
  taskSource,
} from './source';
import { t } from './strings';

export interface OperationState {
  status: string;
  code: string;
  reason: string;
  q: string;
  open: string;
}

const operationState = codec<OperationState>({ status: text(), code: text(), reason: text(), q: text(), open: text() });

/** While it goes on, the rows are asked for again at most this often: one page, not a request per host. */
const ROWS_EVERY_MS = 2000;

export default function OperationPage({ kind }: { kind: 'task' | 'job' }) {
  const { params } = useRoute();
  const id = params.id ?? '';
  const source = useMemo(() => (kind === 'task' ? taskSource(id) : jobSource(id)), [kind, id]);
  const answer = useData(`${kind} ${id}`, signal => source.load(signal));
  if (answer.error instanceof ApiError && answer.error.status === 404)
    return (
      <Empty whole icon="operations" title={t().unknown}>
        {t().unknownText}
      </Empty>
    );
  if (!answer.data)
    return (
      <div class="page">
        <Loaded {...answer} lines={8}>
          {() => null}
        </Loaded>
      </div>
    );
  return <Shown source={source} operation={answer.data} patch={answer.patch} reload={answer.reload} />;
}

/** Status, word, how many. */
type Chip = [string, string, number];

/** Why this user may not act on it. A task does not say its namespaces, so the server decides there. */
function roleMissing({ business, namespaces }: Operation): string | null {
  const allowed =
    business !== null
      ? may('operator', { business })
      : may('operator') && namespaces.every(namespace => may('operator', { namespace }));
  return allowed ? null : reasonWord('role');
}

interface ShownProps {
  source: Source;
  operation: Operation;
  patch: (change: (operation: Operation) => Operation) => void;
  reload: () => void;
}

function Shown({ source, operation, patch, reload }: ShownProps) {
  const [state, set] = useUrlState(operationState);
  const words = t();
  useTitle(`${operation.op ? opWord(operation.op) : words.operations} ${count(operation.counts.total)}`);
  const filter = { status: state.status, code: state.code, reason: state.reason, q: state.q };
  const rows = useRows<ResultRow>(
    JSON.stringify([source.kind, source.id, filter]),
    row => row.key,
    async (start, limit, signal) => {
      const page = await source.page(filter, start, limit, signal);
      // The rows tell the operation, too: no request of its own.
      patch(known => ({ ...page.operation, op: page.operation.op ?? known.op }));
      return page;
    },
  );
  const failures = useData(
    operation.counts.failed > 0 ? `failures ${source.id} ${over(operation)}` : null,
    source.failures,
  );

  const timer = useRef<ReturnType<typeof setTimeout>>();
  useLive({ kinds: [source.kind], subjects: [source.id] }, changes => {
    for (const change of changes) patch(known => source.apply(known, change));
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      rows.reload();
      if (failures.data || operation.counts.failed > 0) failures.reload();
    }, ROWS_EVERY_MS);
  });
  useEffect(() => () => clearTimeout(timer.current), []);

  useKeys(words.targets, state.open ? { Escape: { label: common().close, run: () => set({ open: '' }) } } : {});

  const [typed, setTyped] = useState(state.q);
  const typing = useRef<ReturnType<typeof setTimeout>>();
  const isUpdate = operation.op === 'update';
  const columns = useMemo(() => resultColumns(isUpdate), [language.value, isUpdate]);
  // Reading the version renders again when the opened row has changed.
  const opened = rows.version.value >= 0 && state.open ? rows.indexOf(state.open) : undefined;
  const openRow = opened === undefined ? undefined : rows.row(opened);
  const statuses: Chip[] = [
    ['', words.all, operation.counts.total],
    ['failed', words.failed, operation.counts.failed],
    ['running', words.running, operation.counts.running],
    ['ok', words.done, operation.counts.ok],
    ...(operation.counts.pending > 0 ? [['pending', words.pending, operation.counts.pending] as Chip] : []),
    ...(operation.counts.ignored > 0 ? [['ignored', words.ignored, operation.counts.ignored] as Chip] : []),
  ];

  return (
    <div class="operation">
      <div class="operation-top">
        <Crumbs />
        <Head source={source} operation={operation} reload={reload} />
        {failures.data && failures.data.length > 0 && (
          <Failures
            groups={failures.data}
            state={state}
            set={set}
            source={source}
            mayRetry={over(operation)}
            blocked={roleMissing(operation)}
          />
        )}
        <div class="line">
          <span class="line" role="group" aria-label={words.columns.status}>
            {statuses.map(([status, word, number]) => (
              <Button
                key={status}
                size="small"
                pressed={state.status === status}
                onClick={() => set({ status, code: '', reason: '' })}
              >
                {word} {count(number)}
              </Button>
            ))}
          </span>
          <input
            class="input input-small operation-find"
            type="search"
            placeholder={words.find}
            aria-label={words.find}
            value={typed}
            onInput={event => {
              const q = event.currentTarget.value;
              setTyped(q);
              clearTimeout(typing.current);
              typing.current = setTimeout(() => set({ q: q.trim() }), 250);
            }}
          />
          <span class="grow" />
          <CopyButton text={() => source.hosts(filter)}>{words.copyHosts}</CopyButton>
        </div>
      </div>
      <div class="operation-body">
        <Table
          rows={rows}
          columns={columns}
          label={words.targets}
          rowName={row => `${row.process} ${row.host}`}
          onOpen={row => set({ open: row.key }, state.open ? 'replace' : 'push')}
          opened={state.open}
          isGone={row => state.status !== '' && (row.status === 'already' ? 'ok' : row.status) !== state.status}
          empty={<Empty icon="operations" title={words.nothing} />}
        />
        {openRow && <ResultDrawer row={openRow} onClose={() => set({ open: '' })} />}
      </div>
    </div>
  );
}

function Crumbs() {
  return (
    <nav class="crumbs" aria-label={t().operations}>
      <a href={paths.ops()}>{t().operations}</a>
    </nav>
  );
}

/** In words, what the job was told: folded, because its head says how far it is. */
function Pacing({ operation, options }: { operation: Operation; options: OperateOptions }) {
  const sentences = rollSentences(options, operation.counts.total, operation.business !== null);
  return (
    <details class="operation-pace">
      <summary>
        {t().pace}: <span class="muted">{sentences[0]}</span>
      </summary>
      <ul>
        {sentences.slice(1).map(sentence => (
          <li key={sentence}>{sentence}</li>
        ))}
      </ul>
    </details>
  );
}

interface HeadProps {
  source: Source;
  operation: Operation;
  reload: () => void;
}

function Head({ source, operation, reload }: HeadProps) {
  const words = t();
  const { total, ok, failed, ignored, running, pending } = operation.counts;
  const ended = ok + failed + ignored;
  const pace = useRef(new Pace());
  useEffect(() => pace.current.add(Date.now(), ended), [ended]);
  const rate = over(operation) ? null : pace.current.rate();
  const left = over(operation) ? null : pace.current.leftMs(total - ended);
  const blocked = roleMissing(operation);
  const [cancelling, setCancelling] = useState(false);
  const [reverting, setReverting] = useState(false);
  const act = (what: Promise<unknown>) =>
    what.then(reload, (error: Error) => toast(() => `${words.refused}: ${errorText(error)}`, 'bad'));
  const retry = () =>
    act(
      source.retry({}).then(answer => {
        toast(
          () => (answer.task_id ? <a href={paths.task(answer.task_id)}>{words.retried}</a> : words.retried),
          'good',
        );
      }),
    );
  return (
    <>
      <div class="page-head">
        <h1>
          {operation.op ? opWord(operation.op) : words.operations}{' '}
          <span class="muted">{words.ofProcesses(count(total))}</span>
        </h1>
        <ProgressBadge state={over(operation) && failed > 0 ? 'failed' : operation.state} />
        <span class="muted">
          {source.kind === 'task' ? words.task : words.job} <code>{operation.id}</code> · {words.by(operation.user)} ·{' '}
          <Ago at={operation.createdAt} />
          {operation.endedAt > 0 && ` · ${words.took} ${duration(operation.endedAt - operation.createdAt)}`}
          {operation.pausedBy && ` · ${words.paused(operation.pausedBy)}`}
          {operation.cancelledBy && ` · ${words.cancelled(operation.cancelledBy)}`}
          {operation.batch && ` · ${words.batch(operation.batch.number, operation.batch.of)}`}
        </span>
        <span class="grow" />
        {source.kind === 'job' && !over(operation) && (
          <>
            {operation.pausedBy === null ? null : operation.state === 'paused' ? (
              <Button size="small" icon="start" blocked={blocked} onClick={() => act(resumeJob(source.id))}>
                {words.resume}
              </Button>
            ) : (
              <Button size="small" icon="pause" blocked={blocked} onClick={() => act(pauseJob(source.id))}>
                {words.pause}
              </Button>
            )}
            <Button
              size="small"
              icon="close"
              blocked={operation.cancelledBy ? words.cancelled(operation.cancelledBy) : blocked}
              onClick={() => setCancelling(true)}
            >
              {words.cancel}
            </Button>
          </>
        )}
        {operation.kind === 'job' && operation.op === 'update' && operation.revertedBy === null && (
          <Button size="small" icon="left" blocked={blocked} onClick={() => setReverting(true)}>
            {words.revert}
          </Button>
        )}
        {over(operation) && failed > 0 && operation.revertedBy === null && (
          <Button size="small" icon="restart" blocked={blocked} onClick={retry}>
            {words.retryFailed}
          </Button>
        )}
      </div>
      {cancelling && (
        <Confirm
          danger
          title={words.cancel}
          action={words.cancel}
          run={() => cancelJob(source.id).then(reload)}
          onClose={() => setCancelling(false)}
        >
          {words.cancelText(count(pending))}
        </Confirm>
      )}
      {reverting && (
        <Confirm
          danger
          title={words.revert}
          action={words.revert}
          run={() => revertJob(source.id).then(reload)}
          onClose={() => setReverting(false)}
        >
          {words.revertText}
        </Confirm>
      )}
      {operation.versions.length > 0 && (
        <p class="line">
          <span>{versionsText(operation.versions)}</span>
          {operation.reverts !== null && <a href={paths.job(operation.reverts)}>{words.reverts(operation.reverts)}</a>}
          {operation.revertedBy !== null && (
            <a href={paths.job(operation.revertedBy)}>{words.revertedBy(operation.revertedBy)}</a>
          )}
        </p>
      )}
      {operation.options && <Pacing operation={operation} options={operation.options} />}
      <div class="operation-progress">
        <Bar
          label={words.targets}
          parts={[
            { key: 'ok', word: words.done, tone: 'good', count: ok },
            { key: 'failed', word: words.failed, tone: 'bad', count: failed },
            { key: 'running', word: words.running, tone: 'info', count: running },
            { key: 'rest', word: words.pending, tone: 'idle', count: pending + ignored },
          ]}
        />
        <p class="operation-counts" role="status">
          <span class="tone-good">
            {count(ok)} {words.done}
          </span>
          {failed > 0 && (
            <span class="tone-bad">
              {count(failed)} {words.failed}
            </span>
          )}
          {ignored > 0 && (
            <span class="muted">
              {count(ignored)} {words.ignored}
            </span>
          )}
          {running > 0 && (
            <span class="tone-info">
              {count(running)} {words.running}
            </span>
          )}
          {pending > 0 && (
            <span class="muted">
              {count(pending)} {words.pending}
            </span>
          )}
          {rate !== null && <span class="muted">{words.rate(decimal(rate))}</span>}
          {left !== null && <span class="muted">{words.left(duration(left))}</span>}
        </p>
      </div>
    </>
  );
}
