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
export type ProcessVersion = Schemas['ProcessVersionView'];
export type LastExit = Schemas['LastExitView'];
export type TaskRow = Schemas['TaskRow'];
export type Target = Schemas['TargetResult'];
export type EventRow = Schemas['EventRow'];
export type JobRow = Schemas['JobView'];
export type JobTask = Schemas['JobTaskView'];
export type Business = Schemas['BusinessView'];
export type LogPiece = Schemas['LogPiece'];
export type CreatedToken = Schemas['CreatedToken'];
export type Held = Schemas['HeldAnswer'];

export type Operation = 'start' | 'stop' | 'restart' | 'reload' | 'kill' | 'manage' | 'unmanage';

export type Process = Schemas['ProcessView'];
export type ProcessPage = Schemas['ProcessPage'];
export type ProcessDetail = Schemas['ProcessDetail'];
export type Host = Schemas['HostRow'];
export type HostPage = Schemas['HostPage'];
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

/** How a job goes about its targets. */
export interface OperateOptions {
  /** A number, or a share such as `10%`. */
  batch_size?: number | string;
  canary?: number;
  pause_secs?: number;
  /** `up:30s` or `ready:30s`. */
  gate?: string;
  max_failures?: number;
  /** `host` or `label:KEY`; by priority without it. */
  order?: string;
  isolation?: string;
  /** Targets that end with these are ignored. */
  ignore_error_codes?: number[];
  /** Of an update: given back when it fails. */
  revert?: boolean;
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

export type Summary = Schemas['FleetSummary'];

export type TaskDetail = Schemas['TaskDetail'] & { op?: string | null };

export interface FailureGroup {
  code: number;
  reason: string;
  count: number;
  hosts: string[];
}

export type TimelineEntry = Schemas['TimelineRow'];

export type Timeline = Schemas['TimelineList'];

export type Why = Schemas['WhyView'];

export type Figures = Schemas['ProcessFigures'];

export type StateFigures = Schemas['StateFigures'];

export type Found = Schemas['SearchResult'];
