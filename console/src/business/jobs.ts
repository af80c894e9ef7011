/** Acting on the processes of a business: a job over a filter or over ids. */
import { post } from '../api/client';
import type { Accepted, Operation, Plan } from '../api/types';
import type { JobOptions, ViewFilter } from './api';

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

export interface PlannedJob {
  plan: Plan;
  run: (options: JobOptions) => Promise<Accepted>;
}

export async function planJob(action: string, target: JobTarget): Promise<PlannedJob> {
  const { business, filter, except } = target;
  const body = { business, action, filter, ...(except.length > 0 ? { except } : {}) };
  const plan = await post<Plan>('/jobs', { ...body, dry_run: true });
  return {
    plan,
    run: async options => {
      const { id, targets } = await post<{ id: number; targets: number }>('/jobs', {
        ...body,
        expect_count: plan.count,
        options,
      });
      return { job_id: id, targets };
    },
  };
}
