/** Finds out what an operation would do, and does it. */
import { operate, plan } from '../api/calls';
import { post } from '../api/client';
import type { Accepted, OperateOptions, Operation, Plan } from '../api/types';
import { jobAction, jobOptions, planJob } from '../business/jobs';
import { byProcess, crossFilter, mergePlans, type OperateTarget, splitKey } from './target';

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
  if (planned.plan.count === target.keys.length) return planned;
  return byRows(op, target.keys);
}

/** A start of what runs is no failure. */
const alreadySo = (op: Operation): { ignore_error_codes?: number[] } =>
  op === 'start' ? { ignore_error_codes: [828] } : {};

async function byJob(op: Operation, target: OperateTarget & { kind: 'job' }): Promise<Planned> {
  const { plan: planned, run } = await planJob(target.action ?? jobAction(op), target);
  return {
    plan: planned,
    rolls: true,
    silent: planned.commands.length === 0,
    run: options => run({ ...jobOptions(options, planned.count), ...alreadySo(op), ...target.options }),
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
        ...(options ? { options: { ...options, ...alreadySo(op) } } : {}),
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
