/** The confirmation with its blast radius: what will be touched, what it runs, what will not change, and in which steps. */
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { ApiError } from '../api/errors';
import type { OperateOptions, Operation } from '../api/types';
import { jobAction } from '../business/jobs';
import { Button } from '../components/button';
import { Dialog } from '../components/dialog';
import '../components/field.css';
import { Icon } from '../components/icon';
import { ErrorBox, Skeleton } from '../components/states';
import { t as common, envWord, opWord, reasonWord } from '../i18n/common';
import { count } from '../i18n/format';
import './dialog.css';
import { followAccepted } from './follow';
import { type Planned, planOperation } from './request';
import { t } from './strings';
import { canRoll, mustType, type OperateTarget, ROLL_FROM, rollDefaults, splitKey, targetCount } from './target';

interface OperateDialogProps {
  op: Operation;
  target: OperateTarget;
  onDone?: (() => void) | undefined;
  onClose: () => void;
}

export default function OperateDialog({ op, target, onDone, onClose }: OperateDialogProps) {
  const [planned, setPlanned] = useState<Planned | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [refused, setRefused] = useState<Error | null>(null);
  const [movedFrom, setMovedFrom] = useState<number | null>(null);
  const [attempt, setAttempt] = useState(0);
  const [typed, setTyped] = useState('');
  const [busy, setBusy] = useState(false);
  const [roll, setRoll] = useState<OperateOptions | null>(null);
  const words = t();

  useEffect(() => {
    let current = true;
    setError(null);
    planOperation(op, target).then(
      found => {
        if (!current) return;
        setPlanned(found);
        setTyped('');
        setRoll(found.rolls && canRoll(op) && found.plan.count > ROLL_FROM ? rollDefaults(found.plan.count) : null);
      },
      failed => current && setError(failed),
    );
    return () => {
      current = false;
    };
  }, [attempt]);

  const run = async () => {
    if (!planned) return;
    setBusy(true);
    setRefused(null);
    try {
      const accepted = await planned.run(roll ?? undefined);
      followAccepted(target.kind === 'job' ? (target.action ?? jobAction(op)) : op, accepted);
      onDone?.();
      onClose();
    } catch (failed) {
      setBusy(false);
      if (failed instanceof ApiError && failed.status === 409 && failed.code === 'count_changed') {
        setMovedFrom(planned.plan.count);
        setPlanned(null);
        setAttempt(attempt + 1);
      } else setRefused(failed as Error);
    }
  };

  const plan = planned?.plan;
  const number = plan?.count ?? targetCount(target);
  const only = onlyOne(target);
  const word = opWord(target.kind === 'job' ? (target.action ?? jobAction(op)) : op);
  const why = plan ? mustType(plan) : null;
  const forbidden = plan?.blocked.some(one => one.reason === 'role') ?? false;
  const blocked = !plan
    ? words.planning
    : plan.count === 0
      ? words.nothing
      : forbidden
        ? words.notAllowed
        : why && typed.replace(/\D/g, '') !== String(plan.count)
          ? words.type(count(plan.count))
          : null;
  const dangerous = op === 'stop' || op === 'kill' || op === 'unmanage';

  return (
    <Dialog
      title={only ? words.titleOne(word, only.process) : words.title(word, number, count(number))}
      onClose={onClose}
      footer={
        <>
          <Button autofocus onClick={onClose}>
            {common().cancel}
          </Button>
          <Button kind={dangerous ? 'danger' : 'primary'} busy={busy} blocked={blocked} onClick={run}>
            {only ? word : `${word} ${count(number)}`}
          </Button>
        </>
      }
    >
      <form
        class="plan"
        onSubmit={event => {
          event.preventDefault();
          if (!blocked && !busy) void run();
        }}
      >
        {movedFrom !== null && plan && movedFrom !== plan.count && (
          <p class="note note-warn" role="alert">
            {words.moved(count(movedFrom), count(plan.count))}
          </p>
        )}
        {error && <ErrorBox title={words.planFailed} error={error} retry={() => setAttempt(attempt + 1)} />}
        {!plan && !error && <Skeleton lines={5} />}
        {plan && (
          <>
            <PlanFacts plan={plan} only={only?.host ?? null} silent={planned.silent ?? false} />
            {plan.blocked.length > 0 && (
              <div class={`note ${forbidden ? 'note-bad' : 'note-warn'}`}>
                <p class="line">
                  <Icon name="warning" size={14} /> <strong>{words.blocked}</strong>
                </p>
                <ul class="plan-blocked">
                  {plan.blocked.map(one => (
                    <li key={one.reason}>
                      {words.blockedLine(count(one.count), reasonWord(one.reason))}
                      {one.hosts.length > 0 && !only && (
                        <span class="muted"> · {words.someHosts(one.hosts.join(', '))}</span>
                      )}
                    </li>
                  ))}
                </ul>
              </div>
            )}
            {op === 'stop' && <p class="muted">{words.undone}</p>}
            {op === 'kill' && target.kind !== 'job' && <p class="note note-warn">{words.killText}</p>}
            {planned.rolls && canRoll(op) && plan.count > 1 && (
              <Roll options={roll} count={plan.count} onChange={setRoll} />
            )}
            {why && <TypeNumber why={why} number={plan.count} typed={typed} onTyped={setTyped} />}
          </>
        )}
        {refused && <ErrorBox title={words.failed} error={refused} />}
      </form>
    </Dialog>
  );
}

function onlyOne(target: OperateTarget): { process: string; host: string | null } | null {
  if (target.kind === 'job') return target.name ? { process: target.name, host: null } : null;
  return target.kind === 'keys' && target.keys.length === 1 ? splitKey(target.keys[0]!) : null;
}

function PlanFacts({ plan, only, silent }: { plan: Planned['plan']; only: string | null; silent: boolean }) {
  const words = t();
  const list = (values: { value: string; count: number }[], word: (value: string) => string = value => value) =>
    values
      .slice(0, 6)
      .map(one => `${word(one.value)} ${count(one.count)}`)
      .join(' · ') + (values.length > 6 ? ' · …' : '');
  return (
    <dl class="facts plan-facts">
      {!only && (
        <>
          <dt>{words.targets}</dt>
          <dd class="plan-number">{count(plan.count)}</dd>
        </>
      )}
      <dt>{words.hosts}</dt>
      <dd>{only ?? count(plan.hosts)}</dd>
      {!only && plan.namespaces.length > 0 && (
        <>
          <dt>{words.namespaces}</dt>
          <dd>{list(plan.namespaces)}</dd>
        </>
      )}
      {plan.environments.length > 0 && (
        <>
          <dt>{words.environments}</dt>
          <dd>{list(plan.environments, envWord)}</dd>
        </>
      )}
      {!silent && (
        <>
          <dt>{words.commands}</dt>
          <dd>
            {plan.commands.length === 0 ? (
              <span class="muted">{words.noCommand}</span>
            ) : (
              <ul class="plan-commands">
                {plan.commands.map(one => (
                  <li key={one.command}>
                    <code class="code-block">{one.command}</code>
                    {plan.commands.length > 1 && <span class="muted number">{count(one.count)}</span>}
                  </li>
                ))}
              </ul>
            )}
          </dd>
        </>
      )}
    </dl>
  );
}

function Roll({
  options,
  count: total,
  onChange,
}: {
  options: OperateOptions | null;
  count: number;
  onChange: (options: OperateOptions | null) => void;
}) {
  const words = t();
  const id = useId();
  const number = (key: 'pause_secs' | 'max_failures', label: string) => (
    <div class="field">
      <label for={`${id}-${key}`}>{label}</label>
      <input
        id={`${id}-${key}`}
        class="input input-small"
        type="number"
        min={0}
        value={options?.[key] ?? 0}
        onInput={event => onChange({ ...options, [key]: Math.max(0, Number(event.currentTarget.value) || 0) })}
      />
    </div>
  );
  return (
    <fieldset class="plan-roll">
      <label class="line">
        <input
          type="checkbox"
          checked={options !== null}
          onChange={event => onChange(event.currentTarget.checked ? rollDefaults(total) : null)}
        />
        <span>{words.roll}</span>
      </label>
      {options && (
        <>
          <div class="plan-roll-fields">
            <div class="field">
              <label for={`${id}-batch`}>{words.batch}</label>
              <input
                id={`${id}-batch`}
                class="input input-small"
                pattern="[1-9][0-9]*%?"
                value={String(options.batch_size ?? '')}
                onInput={event => {
                  const text = event.currentTarget.value.trim();
                  onChange({ ...options, batch_size: /^\d+$/.test(text) ? Number(text) : text });
                }}
              />
            </div>
            {number('pause_secs', words.pause)}
            {number('max_failures', words.failures)}
          </div>
          <p class="muted plan-roll-text">{words.rollText}</p>
        </>
      )}
    </fieldset>
  );
}

function TypeNumber({
  why,
  number,
  typed,
  onTyped,
}: {
  why: 'formal' | 'many';
  number: number;
  typed: string;
  onTyped: (text: string) => void;
}) {
  const words = t();
  const id = useId();
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);
  return (
    <div class="field plan-type">
      <label for={id}>
        {why === 'formal' ? words.typeWhyFormal : words.typeWhyMany} <strong>{words.type(count(number))}</strong>
      </label>
      <input
        id={id}
        ref={field}
        class="input"
        inputMode="numeric"
        autocomplete="off"
        value={typed}
        onInput={event => onTyped(event.currentTarget.value)}
      />
    </div>
  );
}
