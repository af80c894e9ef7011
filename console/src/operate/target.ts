/** What an operation is aimed at, and how that is said to the API. Pure. */
import type { Operation, Plan, ProcessFilter } from '../api/types';
import type { JobTarget } from '../business/jobs';

/** All that match a filter minus exceptions, rows by key (`ns/name@host`), or processes of a business, by a job. */
export type OperateTarget =
  | ({ kind: 'job'; name?: string } & JobTarget)
  | { kind: 'query'; filter: ProcessFilter; except: string[]; count: number }
  | { kind: 'keys'; keys: string[] };

export interface ProcessKey {
  process: string;
  host: string;
}

export const processKey = (row: { namespace: string; name: string; host: string }) =>
  `${row.namespace}/${row.name}@${row.host}`;

/** The address may hold anything. */
export const isProcessKey = (key: string) => /^[^/@]+\/[^/@]+@[^@]+$/.test(key) && !/[<>\s]/.test(key);

export function splitKey(key: string): ProcessKey {
  const at = key.indexOf('@');
  return { process: key.slice(0, at), host: key.slice(at + 1) };
}

const distinct = (values: string[]) => [...new Set(values)];

/**
 * The smallest filter that names these rows: their processes on their hosts. It may match other rows, too. As all the rows
 * match it, it is exact if and only if the dry run counts as many as there are.
 */
export function crossFilter(keys: string[]): ProcessFilter {
  const parts = keys.map(splitKey);
  return { process: distinct(parts.map(part => part.process)), host: distinct(parts.map(part => part.host)) };
}

/** The rows by process: each group is named exactly by its process and hosts. */
export function byProcess(keys: string[]): { process: string; hosts: string[] }[] {
  const groups = new Map<string, string[]>();
  for (const { process, host } of keys.map(splitKey)) groups.set(process, [...(groups.get(process) ?? []), host]);
  return [...groups].map(([process, hosts]) => ({ process, hosts }));
}

export const targetCount = (target: OperateTarget) => (target.kind === 'keys' ? target.keys.length : target.count);

/** One plan of several parts. */
export function mergePlans(plans: Plan[]): Plan {
  const sum = <K extends string>(lists: ({ count: number } & Record<K, string>)[][], by: K) => {
    const counts = new Map<string, number>();
    for (const one of lists.flat()) counts.set(one[by], (counts.get(one[by]) ?? 0) + one.count);
    return [...counts]
      .sort((a, b) => b[1] - a[1])
      .map(([value, count]) => ({ [by]: value, count }) as Record<K, string> & { count: number });
  };
  const hostsOf = (reason: string) =>
    plans.flatMap(plan => plan.blocked.find(one => one.reason === reason)?.hosts ?? []).slice(0, 3);
  return {
    count: plans.reduce((total, plan) => total + plan.count, 0),
    // Hosts of different processes may be the same; the caller knows the exact number.
    hosts: Math.max(0, ...plans.map(plan => plan.hosts)),
    namespaces: sum(
      plans.map(plan => plan.namespaces),
      'value',
    ),
    environments: sum(
      plans.map(plan => plan.environments),
      'value',
    ),
    blocked: sum(
      plans.map(plan => plan.blocked),
      'reason',
    ).map(one => ({ ...one, hosts: hostsOf(one.reason) })),
    commands: sum(
      plans.map(plan => plan.commands),
      'command',
    ),
    sample: plans.flatMap(plan => plan.sample).slice(0, 5),
  };
}

export const MANY = 100;
/** More than this many go in batches unless the user chooses otherwise. */
export const ROLL_FROM = 50;

/** Why the number must be typed; null when a click is enough. */
export function mustType(plan: Plan): 'formal' | 'many' | null {
  if (plan.environments.some(env => env.value === 'formal' && env.count > 0)) return 'formal';
  return plan.count > MANY ? 'many' : null;
}

/** Operations that go through a job make sense for these. */
export const canRoll = (op: Operation) => op !== 'manage' && op !== 'unmanage';
