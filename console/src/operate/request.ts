/** Finds out what an operation would do, and does it. */
import { operate, plan, processes } from '../api/calls';
import { post } from '../api/client';
import type { Accepted, OperateOptions, Operation, Plan } from '../api/types';
import { jobAction, planJob } from '../business/jobs';
import { byProcess, crossFilter, mergePlans, type OperateTarget, processKey, splitKey } from './target';

export interface Planned {
  plan: Plan;
  /** Does exactly what was planned, or is refused. */
  run: (options: OperateOptions | undefined) => Promise<Accepted>;
  /** Whether it can be rolled out in batches. */
  rolls: boolean;
  /** Which commands it runs is not known. */
  silent?: boolean;
}

export async function planOperation(op: Operation, target: OperateTarget): Promise<Planned> {
  if (target.kind === 'job') return byJob(op, target);
  if (target.kind === 'query') return byFilter(op, target.filter, target.except);
  const filter = crossFilter(target.keys);
  const planned = await byFilter(op, filter, []);
  const others = planned.plan.count - target.keys.length;
  if (others === 0) return planned;
  if (others > 0 && planned.plan.count <= MOST_ROWS) {
    const { processes: rows } = await processes(filter, { limit: MOST_ROWS });
    const chosen = new Set(target.keys);
    const except = rows.map(processKey).filter(key => !chosen.has(key));
    if (except.length === others) return byFilter(op, filter, except);
  }
  return byRows(op, target.keys);
}

/** So many rows are asked for, to find those that a filter matches and that are not meant. */
const MOST_ROWS = 1000;

const ALREADY_RUNNING = 828;

/** A start of what runs is no failure. */
function merged(op: Operation, options: OperateOptions = {}): OperateOptions {
  const ignored = [...(options.ignore_error_codes ?? []), ...(op === 'start' ? [ALREADY_RUNNING] : [])];
  return { ...options, ...(ignored.length > 0 ? { ignore_error_codes: ignored } : {}) };
}

async function byJob(op: Operation, target: OperateTarget & { kind: 'job' }): Promise<Planned> {
  const { plan: planned, run } = await planJob(target.action ?? jobAction(op), target);
  return {
    plan: planned,
    rolls: true,
    silent: planned.commands.length === 0,
    run: options => run({ ...merged(op, options), ...target.options }),
  };
}

async function byFilter(op: Operation, filter: ReturnType<typeof crossFilter>, except: string[]): Promise<Planned> {
  const query = { op, filter, ...(except.length > 0 ? { except } : {}) };
  const planned = await plan(query);
  return {
    plan: planned,
    rolls: true,
    run: options =>
      operate({
        ...query,
        expect_count: planned.count,
        ...(options ? { options: merged(op, options) } : {}),
      }),
  };
}

/** Rows that no filter names exactly: planned one process after the other, and done as one task. */
async function byRows(op: Operation, keys: string[]): Promise<Planned> {
  const groups = byProcess(keys);
  const plans: Plan[] = [];
  for (const { process, hosts } of groups) plans.push(await plan({ op, filter: { process: [process], host: hosts } }));
  const merged = { ...mergePlans(plans), hosts: new Set(keys.map(key => splitKey(key).host)).size };
  return {
    plan: merged,
    rolls: false,
    run: () => post<Accepted>('/operate', { operations: groups.map(({ process, hosts }) => ({ process, op, hosts })) }),
  };
}
