/** Tasks and jobs in one form, so that one page shows both. */
import { call, get, post, type Query } from '../../api/client';
import type { FailureGroup, JobRow, JobTask, OperateOptions, Target, TaskDetail } from '../../api/types';
import type { Reason } from '../../i18n/reasons';
import type { Change } from '../../live/changes';
import type { VersionCount } from '../../process/versions';
import { segment } from '../../url/codec';

export interface Counts {
  total: number;
  ok: number;
  failed: number;
  ignored: number;
  running: number;
  pending: number;
}

export interface Operation {
  kind: 'task' | 'job';
  id: string;
  /** Null where its targets have different ones. */
  op: string | null;
  state: 'pending' | 'running' | 'paused' | 'finished' | 'failed' | 'succeeded';
  counts: Counts;
  user: string;
  createdAt: number;
  /** 0 while it goes on, or where it is not known. */
  endedAt: number;
  /** Null where it cannot be paused. */
  pausedBy: string | null;
  /** Of a job: its business, or the namespaces of its processes. */
  business: number | null;
  namespaces: string[];
  cancelledBy: string;
  batch: { number: number; of: number } | null;
  /** How a job goes about its targets; null for a task. */
  options: OperateOptions | null;
  /** Of an update: what its hosts have, and the jobs that it takes back and that take it back. */
  versions: VersionCount[];
  reverts: number | null;
  revertedBy: number | null;
}

export interface ResultRow {
  key: string;
  status: 'pending' | 'running' | 'ok' | 'already' | 'failed' | 'ignored';
  process: string;
  host: string;
  op: string;
  code: number;
  message: string;
  /** What the message says, as a code. */
  reason: Reason | null;
  command: string;
  output: string;
  exit: { code: number | null; signal: number | null };
  tookMs: number | null;
  solutions: string[];
  /** Jobs: `set.module.service.process.id`. */
  expression: string;
  /** Of an update: what the host has now. */
  has: string;
  version: number | null;
  /** While it waits at the gate of its job: since when it is as the gate asks, 0 while it is not. */
  gateSince: number | null;
}

export const over = (operation: Operation) =>
  operation.state === 'finished' || operation.state === 'failed' || operation.state === 'succeeded';

export interface ResultFilter {
  status: string;
  code: string;
  reason: string;
  q: string;
}

export interface Source {
  kind: 'task' | 'job';
  id: string;
  load(signal?: AbortSignal): Promise<Operation>;
  page(filter: ResultFilter, start: number, limit: number, signal: AbortSignal): Promise<Page>;
  failures(signal: AbortSignal): Promise<FailureGroup[]>;
  hosts(filter: ResultFilter): Promise<string>;
  /** The address of what retries it: a new task, or the job itself. */
  retry(filter: { code?: number; reason?: string }): Promise<{ task_id?: string }>;
  apply(operation: Operation, change: Change): Operation;
}

interface Page {
  count: number;
  rows: ResultRow[];
  operation: Operation;
}

const queryOf = ({ status, code, reason, q }: ResultFilter): Query => ({ status, code, reason, q });

/** What tasks and jobs have in common. `detail` asks for one page of results. */
function common(path: string, detail: (query: Query, signal?: AbortSignal) => Promise<Page>) {
  return {
    load: async (signal?: AbortSignal) => (await detail({ limit: 1 }, signal)).operation,
    page: (filter: ResultFilter, start: number, limit: number, signal: AbortSignal) =>
      detail({ ...queryOf(filter), start, limit }, signal),
    failures: async (signal: AbortSignal) =>
      (await get<{ groups: FailureGroup[] }>(`${path}/failures`, {}, signal)).groups,
    hosts: (filter: ResultFilter) => get<string>(`${path}/hosts`, queryOf(filter)),
    retry: ({ code, reason }: { code?: number; reason?: string }) =>
      post<{ task_id?: string }>(`${path}/retry`, {
        ...(code === undefined ? {} : { codes: [code] }),
        ...(reason === undefined ? {} : { reason }),
      }),
  };
}

export function taskSource(id: string): Source {
  const path = `/tasks/${segment(id)}`;
  return {
    kind: 'task',
    id,
    ...common(path, async (query, signal) => {
      const task = await get<TaskDetail & { results: Target[] }>(path, query, signal);
      return { count: task.count, rows: task.results.map(readTarget), operation: readTask(task) };
    }),
    apply(operation, change) {
      if (change.kind !== 'task') return operation;
      const { total, ended, ok } = change;
      return {
        ...operation,
        state: change.state === 'finished' ? 'finished' : 'running',
        counts: { total, ok, failed: ended - ok, ignored: 0, running: total - ended, pending: 0 },
      };
    },
  };
}

function readTask(task: TaskDetail & { results?: Target[] }): Operation {
  const { total, ok, failed, running } = task.counts;
  const ops = new Set((task.results ?? []).map(one => one.op));
  return {
    kind: 'task',
    id: task.id,
    op: task.op ?? (ops.size === 1 ? ([...ops][0] ?? null) : null),
    state: task.state === 'finished' ? 'finished' : 'running',
    counts: { total, ok, failed, ignored: 0, running, pending: 0 },
    user: task.user || task.app,
    createdAt: task.created_at,
    endedAt: 0,
    pausedBy: null,
    business: null,
    namespaces: [],
    cancelledBy: '',
    batch: null,
    options: null,
    versions: [],
    reverts: null,
    revertedBy: null,
  };
}

const GOING_ON = 115;
/** A start of what runs, a stop of what does not. */
const ALREADY_SO = [828, 829];

function statusOf(code: number): ResultRow['status'] {
  if (code === GOING_ON) return 'running';
  if (code === 0) return 'ok';
  return ALREADY_SO.includes(code) ? 'already' : 'failed';
}

export function readTarget(target: Target): ResultRow {
  return {
    key: `${target.process}@${target.host}`,
    status: statusOf(target.code),
    process: target.process,
    host: target.host,
    op: target.op,
    code: target.code,
    message: target.message || target.warning || '',
    reason: target.reason ?? null,
    command: target.command ?? '',
    output: target.output ?? '',
    exit: { code: target.exit_code ?? null, signal: target.exit_signal ?? null },
    tookMs: target.took_ms ?? target.duration_ms ?? null,
    solutions: [],
    expression: '',
    has: '',
    version: null,
    gateSince: null,
  };
}

type JobDetail = JobRow & {
  count: number;
  tasks: JobTask[];
  paused_by?: string;
  namespaces?: string[];
  batch?: { number: number; of: number } | null;
  versions?: VersionCount[];
};

export function jobSource(id: string): Source {
  const path = `/jobs/${segment(id)}`;
  return {
    kind: 'job',
    id,
    ...common(path, async (query, signal) => {
      const status = query.status === 'ok' ? 'succeeded' : query.status;
      const job = await get<JobDetail>(path, { ...query, status }, signal);
      return { count: job.count, rows: job.tasks.map(task => readJobTask(task, job.action)), operation: readJob(job) };
    }),
    apply(operation, change) {
      if (change.kind !== 'job') return operation;
      const pausedBy = change.paused_by ?? operation.pausedBy;
      const state = stateOfJob(change.status, pausedBy ?? '');
      return { ...operation, state, pausedBy, counts: countsOfJob(change.counts) };
    },
  };
}

export const pauseJob = (id: string) => call('POST', `/jobs/${segment(id)}/pause`, { body: {} });
export const resumeJob = (id: string) => call('POST', `/jobs/${segment(id)}/resume`, { body: {} });
export const revertJob = (id: string) => call('POST', `/jobs/${segment(id)}/revert`, { body: {} });
export const cancelJob = (id: string) => call('POST', `/jobs/${segment(id)}/cancel`, { body: {} });

function stateOfJob(status: string, pausedBy: string): Operation['state'] {
  if (status === 'succeeded' || status === 'failed') return status;
  if (pausedBy || status === 'paused') return 'paused';
  return status === 'pending' ? 'pending' : 'running';
}

const countsOfJob = (counts: Record<string, number>): Counts => ({
  total: counts.total ?? 0,
  ok: counts.succeeded ?? 0,
  failed: counts.failed ?? 0,
  ignored: counts.ignored ?? 0,
  running: counts.running ?? 0,
  pending: counts.pending ?? 0,
});

/** What is not set comes as null. */
const optionsOf = (options: JobRow['options']) =>
  Object.fromEntries(Object.entries(options).filter(([, value]) => value !== null)) as OperateOptions;

function readJob(job: JobDetail): Operation {
  return {
    kind: 'job',
    id: String(job.id),
    op: job.action,
    state: stateOfJob(job.status, job.paused_by ?? ''),
    counts: countsOfJob(job.counts),
    user: job.user || job.app,
    createdAt: job.created_at,
    endedAt: job.ended_at,
    pausedBy: job.paused_by ?? null,
    business: job.business || null,
    namespaces: job.namespaces ?? [],
    cancelledBy: job.cancelled_by,
    batch: job.batch ?? null,
    options: optionsOf(job.options),
    versions: job.versions ?? [],
    reverts: job.update?.reverts ?? null,
    revertedBy: job.update?.reverted_by ?? null,
  };
}

export function readJobTask(task: JobTask, action: string): ResultRow {
  return {
    key: String(task.ordinal),
    status: task.status === 'succeeded' ? 'ok' : (task.status as ResultRow['status']),
    process: task.name,
    host: task.host,
    op: action,
    code: task.code,
    message: task.reason,
    reason: task.cause ?? null,
    command: task.command,
    output: task.output,
    exit: { code: null, signal: null },
    tookMs: task.ended_at > 0 && task.started_at > 0 ? task.ended_at - task.started_at : null,
    solutions: task.solutions,
    expression: task.expression,
    has: task.has ?? '',
    version: task.spec_version ?? null,
    gateSince: task.gate?.since ?? null,
  };
}
