/**
 * The types that pages use. Those of the OpenAPI document come from `schema.ts` (`npm run types`); those that the document
 * does not have yet are written here by hand. Delete a hand-written one when the document has it.
 */
import type { components } from './schema';

type Schemas = components['schemas'];

export type WhoAmI = Schemas['WhoAmI'];
export type Grant = Schemas['GrantRow'];
export type Spec = Schemas['Spec'];
export type Definition = Schemas['DefinitionView'];
export type LastExit = Schemas['LastExitView'];
export type TaskRow = Schemas['TaskRow'];
export type Target = Schemas['TargetResult'];
export type EventRow = Schemas['EventRow'];
export type JobRow = Schemas['JobView'];
export type JobTask = Schemas['JobTaskView'];
export type Business = Schemas['BusinessView'];
export type LogPiece = Schemas['LogPiece'];
export type Held = Schemas['HeldAnswer'];

export type Operation = 'start' | 'stop' | 'restart' | 'reload' | 'kill' | 'manage' | 'unmanage';

/** A known sentence: a code with its parameters, so that the console can say it in Chinese. */
export interface Reason {
  code: string;
  params: Record<string, string | number | null>;
}

export type Process = Schemas['ProcessView'] & { reason?: Reason | null };

export interface ProcessPage {
  count: number;
  start: number;
  processes: Process[];
}

export type ProcessDetail = Omit<Schemas['ProcessDetail'], 'processes'> & { processes: Process[] };

export type Host = Schemas['HostRow'];

export interface HostPage {
  count: number;
  start: number;
  hosts: Host[];
}

export type Facets = Schemas['FacetList'];

/** The filter of GET /processes, as it stands in the body of an acting request. */
export interface ProcessFilter {
  namespace?: string[];
  name?: string[];
  host?: string[];
  process?: string[];
  label?: string;
  state?: string[];
  wanted?: string;
  managed?: boolean;
  connected?: boolean;
  restart_needed?: boolean;
  business?: number[];
  env?: string[];
  cloud?: number[];
  version?: string[];
  q?: string;
}

export interface OperateOptions {
  batch_size?: number | string;
  pause_secs?: number;
  max_failures?: number;
}

export interface OperateQuery {
  op: Operation;
  filter: ProcessFilter;
  except?: string[];
  expect_count?: number;
  dry_run?: boolean;
  options?: OperateOptions;
}

/** What an operation would do: the answer to `dry_run`. */
export type Plan = Schemas['OperationPlanView'];

export interface Accepted {
  task_id?: string;
  job_id?: number;
  targets: number;
}

export interface Summary {
  processes: number;
  states: Record<string, number>;
  wanted_down: number;
  gave_up: number;
  unhealthy: number;
  restart_needed: number;
  hosts: number;
  agents_up: number;
  tasks_running: number;
  jobs_running: number;
  config_drift: number;
}

export type TaskDetail = Schemas['TaskDetail'] & { op?: string | null };

export interface FailureGroup {
  code: number;
  reason: string;
  count: number;
  hosts: string[];
}

export interface TimelineEntry {
  id: string | number;
  at: number;
  kind: 'event' | 'operation' | 'agent' | 'spec' | 'config' | 'health';
  code: string;
  params: Record<string, string | number | null>;
  text: string;
  process: string | null;
  host: string | null;
  user: string | null;
  app: string | null;
  from: string | null;
  task_id: string | null;
  job_id: number | null;
}

export interface Timeline {
  entries: TimelineEntry[];
  next: string | number | null;
}

export interface Why {
  state: string;
  since: number;
  code: string;
  params: Record<string, string | number | null>;
  text: string;
  last_exit: LastExit | null;
  tried: number | null;
  next: number | null;
  output: string[];
}

export interface Figures {
  step_secs: number;
  until: number;
  cpu: (number | null)[];
  mem: (number | null)[];
  fd: (number | null)[];
}

export type Found = Schemas['SearchResult'];
