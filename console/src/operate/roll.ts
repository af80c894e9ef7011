/** How a job goes about its targets: as people write it, as the API takes it, and what that means in steps. Pure. */
import type { OperateOptions } from '../api/types';

/** What people write, each in a field. An empty one leaves the option out. */
export interface RollDraft {
  canary: string;
  batch: string;
  pause: string;
  gate: 'none' | 'up' | 'ready';
  /** How long the gate is. */
  steady: string;
  failures: string;
  order: 'priority' | 'host' | 'label';
  /** The key of the label that the order goes by. */
  key: string;
  isolation: 'business' | 'set' | 'module' | 'host';
  ignore: string;
  revert: boolean;
}

export type RollField = 'canary' | 'batch' | 'pause' | 'steady' | 'failures' | 'key' | 'ignore';

/** What a gate can follow. */
export const hasGate = (op: string) => ['start', 'restart', 'reload', 'update'].includes(op);

/** As `muster update --roll`: a canary, then a tenth at a time, each steady for ten seconds, no failure. */
export const rollDefaults = (op: string): RollDraft => ({
  canary: '1',
  batch: '10%',
  pause: '0s',
  gate: hasGate(op) ? 'up' : 'none',
  steady: '10s',
  failures: '0',
  order: 'priority',
  key: '',
  isolation: 'business',
  ignore: '',
  revert: op === 'update',
});

const UNITS: Record<string, number> = { '': 1, s: 1, m: 60, h: 3600, d: 86_400 };

/** Seconds of `90s`, `5m`, `24h`, `7d` or a number; null for anything else. */
export function seconds(text: string): number | null {
  const parts = /^(\d+)\s*([smhd]?)$/.exec(text.trim());
  return parts ? Number(parts[1]) * (UNITS[parts[2] ?? ''] ?? 1) : null;
}

const DAY = 86_400;
const MOST = 4_294_967_295;

function whole(text: string, least: number): number | null {
  const number = /^\d+$/.test(text.trim()) ? Number(text.trim()) : Number.NaN;
  return number >= least && number <= MOST ? number : null;
}

interface ReadRoll {
  options: OperateOptions;
  /** Fields that cannot be read. */
  wrong: RollField[];
}

/** The options that the fields ask for. */
export function readRoll(draft: RollDraft, op: string): ReadRoll {
  const options: OperateOptions = {};
  const wrong: RollField[] = [];
  const set = <K extends keyof OperateOptions>(field: RollField, key: K, value: OperateOptions[K] | null) => {
    if (value === null) wrong.push(field);
    else options[key] = value;
  };
  const isGiven = (text: string) => text.trim() !== '';
  if (isGiven(draft.canary)) set('canary', 'canary', whole(draft.canary, 1));
  if (isGiven(draft.batch)) {
    const share = /^(\d{1,3})\s*%$/.exec(draft.batch.trim());
    const isShare = share !== null && Number(share[1]) >= 1 && Number(share[1]) <= 100;
    set('batch', 'batch_size', isShare ? `${Number(share[1])}%` : whole(draft.batch, 1));
  }
  if (isGiven(draft.pause)) {
    const pause = seconds(draft.pause);
    set('pause', 'pause_secs', pause !== null && pause <= DAY ? pause : null);
  }
  if (draft.gate !== 'none' && hasGate(op)) {
    const steady = seconds(draft.steady);
    set('steady', 'gate', steady !== null && steady >= 1 && steady <= DAY ? `${draft.gate}:${steady}s` : null);
  }
  if (isGiven(draft.failures)) set('failures', 'max_failures', whole(draft.failures, 0));
  if (draft.order === 'label') set('key', 'order', isGiven(draft.key) ? `label:${draft.key.trim()}` : null);
  else if (draft.order !== 'priority') options.order = draft.order;
  if (draft.isolation !== 'business') options.isolation = draft.isolation;
  const codes = draft.ignore.split(/[,，\s]+/).filter(isGiven);
  if (codes.length > 0)
    set('ignore', 'ignore_error_codes', codes.every(code => /^-?\d+$/.test(code)) ? codes.map(Number) : null);
  if (op === 'update') options.revert = draft.revert;
  return { options, wrong };
}

/** What a job of so many targets does. */
export interface RollSteps {
  /** The size of the first batch; 0 without a canary. */
  canary: number;
  /** How many at a time after it. */
  size: number;
  /** How many batches after it. */
  batches: number;
  /** How long it takes at least, in seconds: gates and pauses. */
  atLeast: number;
}

/** The server counts in the same way: a share is one of all targets, rounded up. */
export function stepsOf(options: OperateOptions, total: number): RollSteps {
  const canary = Math.min(options.canary ?? 0, total);
  const batch = options.batch_size;
  const size =
    batch === undefined
      ? total
      : typeof batch === 'number'
        ? batch
        : Math.max(1, Math.ceil((total * Number.parseInt(batch, 10)) / 100));
  const rest = total - canary;
  const batches = Math.ceil(rest / size);
  const begun = batches + (canary > 0 ? 1 : 0);
  const steady = options.gate ? (seconds(options.gate.split(':')[1] ?? '') ?? 0) : 0;
  const atLeast = begun * steady + Math.max(0, begun - 1) * (options.pause_secs ?? 0);
  return { canary, size: Math.min(size, rest), batches, atLeast };
}
