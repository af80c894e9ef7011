/** Tasks and jobs in one list by time, those that go on first. */
import { tasks as loadTasks } from '../../api/calls';
import { get } from '../../api/client';
import type { JobRow, TaskRow } from '../../api/types';
import { momentOf } from '../../components/period';
import type { Change } from '../../live/changes';
import { byCursor, type CursorPage } from '../../table/cursor';
import type { LoadRows } from '../../table/rows';

export interface OperationRow {
  key: string;
  kind: 'task' | 'job';
  id: string;
  /** Null where the targets of a task have different ones. */
  op: string | null;
  state: string;
  total: number;
  ok: number;
  failed: number;
  ignored: number;
  user: string;
  at: number;
  /** Jobs: their business, or the namespaces of their processes. */
  business: number | null;
  namespaces: string[];
  /** Tasks: the first process, and how many others there are. */
  process: string;
  others: number;
}

export interface OperationFilter {
  kind: string;
  business: string;
  action: string;
  status: string;
  user: string;
  since: string;
}

/** A job over plain processes has namespaces in place of a business. */
type AnyJob = Omit<JobRow, 'business'> & { business: number | null; namespaces?: string[]; paused_by?: string };

/** What tasks do, and what jobs do: the server refuses to look for anything else. */
export const TASK_ACTIONS = ['start', 'stop', 'restart', 'reload', 'kill', 'manage', 'unmanage', 'query'];
export const JOB_ACTIONS = [
  'start',
  'stop',
  'restart',
  'reload',
  'force_stop',
  'set_auto',
  'unset_auto',
  'generate',
  'release',
  'diff',
];

const goesOn = (state: string) => state === 'running' || state === 'pending' || state === 'paused';

const stateOfTask = (state: string, failed: number) =>
  state === 'running' ? 'running' : failed > 0 ? 'failed' : 'succeeded';

export const readTask = (task: TaskRow): OperationRow => ({
  key: `task ${task.id}`,
  kind: 'task',
  id: task.id,
  op: task.op ?? null,
  state: stateOfTask(task.state, task.failed),
  total: task.targets,
  ok: task.ok,
  failed: task.failed,
  ignored: 0,
  user: task.user || task.app,
  at: task.created_at,
  business: null,
  namespaces: [],
  process: task.process,
  others: Math.max(0, task.processes - 1),
});

export const readJob = (job: AnyJob): OperationRow => ({
  key: `job ${job.id}`,
  kind: 'job',
  id: String(job.id),
  op: job.action,
  state: job.paused_by && goesOn(job.status) ? 'paused' : job.status,
  total: job.counts.total,
  ok: job.counts.succeeded,
  failed: job.counts.failed,
  ignored: job.counts.ignored,
  user: job.user || job.app,
  at: job.created_at,
  business: job.business ?? null,
  namespaces: job.namespaces ?? [],
  process: '',
  others: 0,
});

/** The server filters as far as it can; what it does not know is left out here. */
export function accepts(filter: OperationFilter, row: OperationRow): boolean {
  if (filter.kind && row.kind !== filter.kind) return false;
  if (filter.business && String(row.business) !== filter.business) return false;
  if (filter.action && row.op !== filter.action) return false;
  if (filter.user && row.user !== filter.user) return false;
  if (filter.status === 'running') return goesOn(row.state);
  return !filter.status || row.state === filter.status;
}

export function applyChange(row: OperationRow, change: Change): OperationRow {
  if (change.kind === 'task') {
    const failed = change.ended - change.ok;
    return { ...row, state: stateOfTask(change.state, failed), total: change.total, ok: change.ok, failed };
  }
  if (change.kind === 'job') {
    const { total, succeeded, failed, ignored } = change.counts;
    return {
      ...row,
      state: change.status,
      total: total ?? row.total,
      ok: succeeded ?? row.ok,
      failed: failed ?? row.failed,
      ignored: ignored ?? row.ignored,
    };
  }
  return row;
}

/** What is left of one of the two lists. */
interface Feed {
  rows: OperationRow[];
  before: string | number | null;
  done: boolean;
}

interface Cursor {
  tasks: Feed;
  jobs: Feed;
  /** Those that go on stand first; they do not come again. Null: not asked for yet. */
  shown: ReadonlySet<string> | null;
}

type Ask = (query: {
  before?: string | number | null;
  state?: string;
}) => Promise<CursorPage<OperationRow, string | number>>;

const PAGE = 200;

export function loadOperations(filter: OperationFilter): LoadRows<OperationRow> {
  const knows = (actions: string[]) => filter.action === '' || actions.includes(filter.action);
  const wantsTasks = filter.kind !== 'job' && !filter.business && knows(TASK_ACTIONS);
  const wantsJobs = filter.kind !== 'task' && knows(JOB_ACTIONS);
  const since = momentOf(filter.since, Date.now()) ?? 0;
  const feed = (wanted: boolean): Feed => ({ rows: [], before: null, done: !wanted || filter.status === 'running' });

  return byCursor<OperationRow, Cursor>(
    { tasks: feed(wantsTasks), jobs: feed(wantsJobs), shown: null },
    async (cursor, limit, signal) => {
      const { since: from, user, action } = filter;
      const askTasks: Ask = async ({ before, state }) => {
        const wanted = state ?? (filter.status ? 'finished' : '');
        const query = { before, state: wanted, user, op: action, since: from, limit: PAGE };
        const page = await loadTasks(query, signal);
        return { rows: page.tasks.map(readTask), next: page.next ?? null };
      };
      const askJobs: Ask = async ({ before, state }) => {
        const query = { before, status: state ?? filter.status, user, action, since: from, limit: PAGE };
        const page = await get<{ jobs: AnyJob[]; next?: number | null }>(
          '/jobs',
          { ...query, business: filter.business },
          signal,
        );
        return { rows: page.jobs.map(readJob), next: page.next ?? null };
      };

      const shown = new Set(cursor.shown ?? []);
      const rows: OperationRow[] = [];
      if (cursor.shown === null && (filter.status === '' || filter.status === 'running')) {
        const pages = await Promise.all([
          wantsTasks ? askTasks({ state: 'running' }) : null,
          wantsJobs ? askJobs({ state: 'running' }) : null,
          wantsJobs ? askJobs({ state: 'pending' }) : null,
        ]);
        const running = pages
          .flatMap(page => page?.rows ?? [])
          .filter(row => goesOn(row.state) && accepts(filter, row));
        for (const row of running.sort((a, b) => b.at - a.at)) {
          if (shown.has(row.key) || row.at < since) continue;
          shown.add(row.key);
          rows.push(row);
        }
      }

      let { tasks, jobs } = cursor;
      while (rows.length < limit) {
        [tasks, jobs] = await Promise.all([filled(tasks, askTasks, since), filled(jobs, askJobs, since)]);
        const [task, job] = [tasks.rows[0], jobs.rows[0]];
        const row = task && job ? (task.at >= job.at ? task : job) : (task ?? job);
        if (!row) break;
        if (row === task) tasks = { ...tasks, rows: tasks.rows.slice(1) };
        else jobs = { ...jobs, rows: jobs.rows.slice(1) };
        if (!shown.has(row.key) && accepts(filter, row)) rows.push(row);
      }
      const over = tasks.done && jobs.done && tasks.rows.length + jobs.rows.length === 0;
      return { rows, next: over ? null : { tasks, jobs, shown } };
    },
  );
}

/** With at least one row, unless it has ended. */
async function filled(feed: Feed, ask: Ask, since: number): Promise<Feed> {
  if (feed.rows.length > 0 || feed.done) return feed;
  const page = await ask({ before: feed.before });
  const rows = page.rows.filter(row => row.at >= since);
  const done = page.next === null || rows.length < page.rows.length;
  return filled({ rows, before: page.next, done }, ask, since);
}
