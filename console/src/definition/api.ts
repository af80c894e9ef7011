/** Giving a process another definition: what it would do, in batches as a job, and at once. */
import { processes } from '../api/calls';
import { call, post } from '../api/client';
import type { OperateOptions, Plan } from '../api/types';
import { segment } from '../url/codec';
import type { Definition } from './changes';

/** What the hosts of a process are to have: a definition, or that of an earlier version. */
export type Update = { process: string } & (Definition | { version: number });

const job = (update: Update) => ({ action: 'update', update });

/** Validates it, too. */
export const planUpdate = (update: Update) => post<Plan>('/jobs', { ...job(update), dry_run: true });

export const rollUpdate = (update: Update, options: OperateOptions, count: number) =>
  post<{ id: number; targets: number }>('/jobs', { ...job(update), options, expect_count: count });

export interface HostResult {
  host: string;
  code: number;
  message: string;
}

const PAGE = 1000;

async function hostsOf(process: string): Promise<string[]> {
  const hosts: string[] = [];
  for (;;) {
    const page = await processes({ process: [process] }, { start: hosts.length, limit: PAGE });
    hosts.push(...page.processes.map(row => row.host));
    if (page.processes.length === 0 || hosts.length >= page.count) return hosts;
  }
}

/** On all hosts, without touching what runs. */
export async function updateAtOnce(update: Update): Promise<HostResult[]> {
  const path = `/processes/${update.process.split('/').map(segment).join('/')}`;
  if ('version' in update)
    return (await post<{ results: HostResult[] }>(`${path}/rollback`, { to: update.version })).results;
  const { spec, labels } = update;
  const hosts = await hostsOf(update.process);
  return (await call<{ results: HostResult[] }>('PUT', path, { body: { hosts, spec, labels } })).results;
}
