/** Acting on the processes of a business: a job over a filter or over ids. */
import { post } from '../api/client';
import { ApiError } from '../api/errors';
import type { Accepted, OperateOptions, Operation, Plan } from '../api/types';
import { type JobOptions, type ViewFilter, type ViewProcess, view, viewFacets } from './api';

export interface JobTarget {
  business: number;
  filter: ViewFilter;
  /** Ids that match and are not meant. */
  except: number[];
  count: number;
  /** Instead of the operation: `release`. */
  action?: string;
  options?: JobOptions;
}

const ACTIONS: Partial<Record<Operation, string>> = { kill: 'force_stop', manage: 'set_auto', unmanage: 'unset_auto' };

/** The word that jobs have for an operation. */
export const jobAction = (op: Operation): string => ACTIONS[op] ?? op;

interface Created {
  id?: number;
  job_id?: number;
  targets?: number;
}

const accepted = (created: Created, targets: number): Accepted => ({
  job_id: created.job_id ?? created.id ?? 0,
  targets: created.targets ?? targets,
});

/** Batches of jobs are numbers of tasks. */
export function jobOptions(options: OperateOptions | undefined, count: number): JobOptions {
  if (!options) return {};
  const { batch_size, pause_secs, max_failures } = options;
  const share = /^(\d+)%$/.exec(String(batch_size ?? ''));
  const size = share ? Math.max(1, Math.ceil((count * Number(share[1])) / 100)) : Number(batch_size) || null;
  return {
    ...(size ? { batch_size: size } : {}),
    ...(pause_secs ? { pause_secs } : {}),
    ...(max_failures ? { max_failures } : {}),
  };
}

export interface PlannedJob {
  plan: Plan;
  run: (options: JobOptions) => Promise<Accepted>;
}

/** A server that cannot act by filter refuses its name. */
const isUnknownField = (error: unknown) =>
  error instanceof ApiError && error.status === 400 && /unknown field/.test(error.message);

export async function planJob(action: string, target: JobTarget): Promise<PlannedJob> {
  const { business, filter, except } = target;
  const body = { business, action, filter, ...(except.length > 0 ? { except } : {}) };
  try {
    const plan = await post<Plan>('/jobs', { ...body, dry_run: true });
    return {
      plan,
      run: async options =>
        accepted(await post<Created>('/jobs', { ...body, expect_count: plan.count, options }), plan.count),
    };
  } catch (error) {
    if (!isUnknownField(error)) throw error;
  }
  return planByIds(action, target);
}

const PAGE = 1000;
/** More ids than this are not sent. */
const MOST = 20_000;

/** Reads the rows that match and names them in the job. */
async function planByIds(action: string, { business, filter, except }: JobTarget): Promise<PlannedJob> {
  const left = new Set(except);
  const rows: ViewProcess[] = [];
  for (let start = 0; ; start += PAGE) {
    const page = await view(business, filter, { start, limit: PAGE, order: 'id' });
    if (page.count > MOST) throw new ApiError(400, { code: 'too_many', message: `${page.count} > ${MOST}` });
    rows.push(...page.processes.filter(row => !left.has(row.id)));
    if (page.processes.length < PAGE) break;
  }
  const plan = planOf(action, rows);
  return {
    plan,
    run: async options => {
      // The closest to `expect_count`: if another number matches now, nothing is done.
      const now = (await viewFacets(business, ['env'], filter)).count - except.length;
      if (now !== plan.count) throw new ApiError(409, { code: 'count_changed', message: '', count: now });
      const scope = { ids: rows.map(row => row.id) };
      return accepted(await post<Created>('/jobs', { business, action, scope, options }), plan.count);
    },
  };
}

export function planOf(action: string, rows: ViewProcess[]): Plan {
  const tally = (values: string[]) => {
    const counts = new Map<string, number>();
    for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
    return [...counts].sort((a, b) => b[1] - a[1]);
  };
  const reasons = tally(rows.map(row => row.blocked?.[action] ?? '').filter(Boolean));
  return {
    count: rows.length,
    hosts: new Set(rows.map(row => row.host)).size,
    namespaces: [],
    environments: tally(rows.map(row => row.env)).map(([value, count]) => ({ value, count })),
    blocked: reasons.map(([reason, count]) => ({
      reason,
      count,
      hosts: [...new Set(rows.filter(row => row.blocked?.[action] === reason).map(row => row.host))].slice(0, 3),
    })),
    commands: [],
    sample: rows.slice(0, 5).map(row => ({ process: row.expression, host: row.host })),
  };
}
