/** The settings of a job that goes in batches, and in words what it will do. */
import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import type { OperateOptions } from '../api/types';
import '../components/field.css';
import { count, duration } from '../i18n/format';
import { hasGate, type RollDraft, type RollField, readRoll, rollDefaults, seconds, stepsOf } from './roll';
import './roll.css';
import { t } from './roll-strings';

interface RollProps {
  /** Null: all at once, as a task. */
  draft: RollDraft | null;
  op: string;
  total: number;
  /** Of a business: sets, modules and priorities are there. */
  inBusiness: boolean;
  onChange: (draft: RollDraft | null) => void;
  /** It can only go in batches. */
  always?: boolean;
}

export function Roll({ draft, op, total, inBusiness, onChange, always }: RollProps) {
  const words = t();
  return (
    <fieldset class="plan-roll">
      {!always && (
        <label class="line">
          <input
            type="checkbox"
            checked={draft !== null}
            onChange={event => onChange(event.currentTarget.checked ? rollDefaults(op) : null)}
          />
          <span>{words.roll}</span>
        </label>
      )}
      {draft && (
        <>
          <RollFields draft={draft} op={op} inBusiness={inBusiness} onChange={onChange} />
          <RollSteps draft={draft} op={op} total={total} inBusiness={inBusiness} />
        </>
      )}
    </fieldset>
  );
}

interface FieldProps {
  label: string;
  hint?: string | undefined;
  /** Why it cannot be read. */
  rule?: string | undefined;
  children: (id: string, described: string | undefined) => ComponentChildren;
}

function Field({ label, hint, rule, children }: FieldProps) {
  const id = useId();
  const note = rule ?? hint;
  return (
    <div class={`field ${rule ? 'field-wrong' : ''}`}>
      <label for={id}>{label}</label>
      {children(id, note ? `${id}-note` : undefined)}
      {note && (
        <span class="field-note" id={`${id}-note`} role={rule ? 'alert' : undefined}>
          {note}
        </span>
      )}
    </div>
  );
}

interface RollFieldsProps {
  draft: RollDraft;
  op: string;
  inBusiness: boolean;
  onChange: (draft: RollDraft) => void;
}

function RollFields({ draft, op, inBusiness, onChange }: RollFieldsProps) {
  const words = t();
  const { wrong } = readRoll(draft, op);
  const set = (patch: Partial<RollDraft>) => onChange({ ...draft, ...patch });
  const text = (field: RollField) => (
    <Field
      label={words.fields[field]}
      hint={(words.hints as Record<string, string>)[field]}
      rule={wrong.includes(field) ? words.rules[field] : undefined}
    >
      {(id, described) => (
        <input
          id={id}
          class="input input-small"
          autocomplete="off"
          spellcheck={false}
          aria-describedby={described}
          aria-invalid={wrong.includes(field)}
          value={draft[field]}
          onInput={event => set({ [field]: event.currentTarget.value })}
        />
      )}
    </Field>
  );
  const choice = <K extends 'gate' | 'order' | 'isolation'>(field: K, values: Record<string, string>) => (
    <Field label={words.fields[field]}>
      {id => (
        <select
          id={id}
          class="input input-small"
          value={draft[field]}
          onChange={event => set({ [field]: event.currentTarget.value })}
        >
          {Object.entries(values).map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
  const { business, host, ...parts } = words.isolations;
  return (
    <>
      <div class="plan-roll-fields">
        {text('canary')}
        {text('batch')}
        {text('pause')}
        {hasGate(op) && choice('gate', words.gates)}
        {hasGate(op) && draft.gate !== 'none' && text('steady')}
        {text('failures')}
        {choice('order', words.orders)}
        {draft.order === 'label' && text('key')}
        {choice('isolation', inBusiness ? { business: words.isolationBusiness, ...parts, host } : { business, host })}
        {text('ignore')}
      </div>
      {op === 'update' && (
        <label class="line">
          <input
            type="checkbox"
            checked={draft.revert}
            onChange={event => set({ revert: event.currentTarget.checked })}
          />
          <span>{words.revert}</span>
        </label>
      )}
    </>
  );
}

interface RollStepsProps {
  draft: RollDraft;
  op: string;
  total: number;
  inBusiness: boolean;
}

function RollSteps({ draft, op, total, inBusiness }: RollStepsProps) {
  const { options, wrong } = readRoll(draft, op);
  if (wrong.length > 0) return null;
  return (
    <div class="plan-steps">
      <strong>{t().steps}</strong>
      <ol>
        {rollSentences(options, total, inBusiness).map(sentence => (
          <li key={sentence}>{sentence}</li>
        ))}
      </ol>
    </div>
  );
}

/** What a job of so many targets does, one sentence for each setting that counts. */
export function rollSentences(options: OperateOptions, total: number, inBusiness: boolean): string[] {
  const words = t();
  const { canary, size, batches, atLeast } = stepsOf(options, total);
  const unit = options.isolation && options.isolation !== 'business' ? options.isolation : null;
  const [gate, steady] = (options.gate ?? '').split(':');
  const time = (secs: number) => duration(secs * 1000);
  const failures = options.max_failures ?? 0;
  const label = options.order?.startsWith('label:') ? options.order.slice('label:'.length) : null;
  const several = batches > 1 || canary > 0;
  return [
    `${begin(canary, size, batches, total, unit !== null)}.`,
    ...(unit ? [words.perUnit[unit as keyof typeof words.perUnit]] : []),
    ...(label ? [words.byLabel(label)] : options.order === 'host' ? [words.byHost] : []),
    ...(!label && !options.order && inBusiness && several ? [words.byPriority] : []),
    ...(options.pause_secs && several ? [words.pauses(time(options.pause_secs))] : []),
    ...(gate === 'up' ? [words.gateUp(time(seconds(steady ?? '') ?? 0))] : []),
    ...(gate === 'ready' ? [words.gateReady(time(seconds(steady ?? '') ?? 0))] : []),
    ...(canary > 0 && failures > 0 ? [words.canaryFails] : []),
    words.fails(failures, count(failures)) + (options.revert ? ` ${words.reverts}` : ''),
    ...(atLeast >= 60 && unit === null ? [words.atLeast(time(atLeast))] : []),
  ];
}

function begin(canary: number, size: number, batches: number, total: number, inUnits: boolean): string {
  const words = t();
  const isEven = (total - canary) % Math.max(1, size) === 0;
  const rest = inUnits
    ? words.upTo(count(size))
    : isEven || batches === 1
      ? words.batches(batches, count(batches), count(size))
      : words.batchesUpTo(count(batches), count(size));
  if (canary > 0 && batches > 0) return `${words.canaryThen(count(canary))}${words.andThen}${rest}`;
  if (canary > 0) return words.canaryThen(count(canary));
  if (batches <= 1 && !inUnits) return words.alone;
  return rest.charAt(0).toUpperCase() + rest.slice(1);
}
