/** What the stream says, and what a tab wants of it. Pure, used on both sides of the worker. */
import type { EventRow, LastExit, Summary } from '../api/types';

export interface StatusChange {
  kind: 'status';
  process: string;
  host: string;
  state: string;
  next_at: number | null;
  restarts: number;
  last_exit: LastExit | null;
  restart_needed: boolean;
  pid: number | null;
  message: string;
  at: number;
  managed?: boolean;
  wanted?: string;
  started_at?: number;
  cpu?: number;
  mem?: number;
}

export interface TaskChange {
  kind: 'task';
  id: string;
  state: string;
  total: number;
  ended: number;
  ok: number;
}

export interface JobChange {
  kind: 'job';
  id: number;
  business: number | null;
  action: string;
  status: string;
  /** Empty while it is not paused. */
  paused_by?: string;
  counts: Record<string, number>;
}

export interface AgentChange {
  kind: 'agent';
  host: string;
  connected: boolean;
  at?: number;
}

/** The row has a `kind` of its own, so it stands apart. */
export interface EventChange {
  kind: 'event';
  event: EventRow;
}
export type SummaryChange = { kind: 'summary' } & Summary;

export interface RegistrationChange {
  kind: 'registration';
  process: string;
  hosts: number;
  what: 'registered' | 'updated' | 'unregistered';
}

export interface TopologyChange {
  kind: 'topology';
  business: number;
}

export interface TemplateChange {
  kind: 'template';
  business: number;
  template: number;
}

export type Change =
  | StatusChange
  | TaskChange
  | JobChange
  | AgentChange
  | EventChange
  | SummaryChange
  | RegistrationChange
  | TopologyChange
  | TemplateChange;

export type Kind = Change['kind'];

/** Some kinds; of these only the named subjects, if any are named. */
export interface Interest {
  kinds: Kind[];
  /** `ns/name@host` of processes, ids of tasks and jobs, hosts of agents. */
  subjects?: string[];
  /** Subjects that begin like this: `ns/name@`. */
  prefix?: string;
}

export function subject(change: Change): string {
  switch (change.kind) {
    case 'status':
      return `${change.process}@${change.host}`;
    case 'event':
      return `${change.event.process}@${change.event.host}`;
    case 'task':
      return change.id;
    case 'job':
      return String(change.id);
    case 'agent':
      return change.host;
    case 'registration':
      return `${change.process}@`;
    case 'topology':
      return String(change.business);
    case 'template':
      return `${change.business}/${change.template}`;
    case 'summary':
      return '';
  }
}

/** Of two changes with the same key only the later one matters. Events are each their own. */
export function coalesceKey(change: Change): string | null {
  return change.kind === 'event' ? null : `${change.kind} ${subject(change)}`;
}

/** Prepares an interest, because a tab may name hundreds of subjects. */
export function matcher(interests: Interest[]): (change: Change) => boolean {
  const tests = interests.map(({ kinds, subjects, prefix }) => {
    const wanted = subjects && new Set(subjects);
    return (change: Change) => {
      if (!kinds.includes(change.kind)) return false;
      if (!wanted && prefix === undefined) return true;
      const about = subject(change);
      return Boolean(wanted?.has(about) || (prefix !== undefined && about.startsWith(prefix)));
    };
  });
  return change => tests.some(test => test(change));
}

const MOST_EVENTS = 200;

/** Collects changes for one tab: the latest of each subject, and a bounded number of events. */
export class Pending {
  private latest = new Map<string, Change>();
  private events: Change[] = [];

  add(change: Change) {
    const key = coalesceKey(change);
    if (key === null) {
      this.events.push(change);
      if (this.events.length > MOST_EVENTS) this.events.shift();
    } else {
      // Deleting first keeps the order in which things last happened.
      this.latest.delete(key);
      this.latest.set(key, change);
    }
  }

  get size() {
    return this.latest.size + this.events.length;
  }

  take(): Change[] {
    const all = [...this.latest.values(), ...this.events];
    this.latest = new Map();
    this.events = [];
    return all;
  }
}
