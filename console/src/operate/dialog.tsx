/** The confirmation with its blast radius: what will be touched, what it runs, what will not change, and in which steps. */
import { useEffect, useState } from 'preact/hooks';
import { ApiError } from '../api/errors';
import type { Operation } from '../api/types';
import { jobAction } from '../business/jobs';
import { Button } from '../components/button';
import { Dialog } from '../components/dialog';
import '../components/field.css';
import { ErrorBox, Skeleton } from '../components/states';
import { t as common, opWord } from '../i18n/common';
import { count } from '../i18n/format';
import { followAccepted } from './follow';
import { isForbidden, PlanBlocked, PlanFacts, TypeNumber } from './plan';
import { type Planned, planOperation } from './request';
import { type RollDraft, readRoll, rollDefaults } from './roll';
import { Roll } from './roll-fields';
import { t } from './strings';
import { canRoll, mustType, type OperateTarget, ROLL_FROM, splitKey, targetCount } from './target';

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
  const [roll, setRoll] = useState<RollDraft | null>(null);
  const words = t();
  const action = target.kind === 'job' ? (target.action ?? jobAction(op)) : op;
  const asked = roll && readRoll(roll, action);

  useEffect(() => {
    let current = true;
    setError(null);
    planOperation(op, target).then(
      found => {
        if (!current) return;
        setPlanned(found);
        setTyped('');
        setRoll(found.rolls && canRoll(op) && found.plan.count > ROLL_FROM ? rollDefaults(action) : null);
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
      const accepted = await planned.run(asked?.options);
      followAccepted(action, accepted);
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
  const word = opWord(action);
  const why = plan ? mustType(plan) : null;
  const forbidden = plan ? isForbidden(plan) : false;
  const blocked = !plan
    ? words.planning
    : plan.count === 0
      ? words.nothing
      : forbidden
        ? words.notAllowed
        : asked && asked.wrong.length > 0
          ? words.rollWrong
          : why && typed.replace(/\D/g, '') !== String(plan.count)
            ? words.type(count(plan.count))
            : null;
  const dangerous = op === 'stop' || op === 'kill' || op === 'unmanage';

  return (
    <Dialog
      title={only ? words.titleOne(word, only.process) : words.title(word, number, count(number))}
      onClose={onClose}
      wide={roll !== null}
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
            <PlanBlocked plan={plan} one={only !== null} />
            {op === 'stop' && <p class="muted">{words.undone}</p>}
            {op === 'kill' && target.kind !== 'job' && <p class="note note-warn">{words.killText}</p>}
            {planned.rolls && canRoll(op) && plan.count > 1 && (
              <Roll draft={roll} op={action} total={plan.count} inBusiness={target.kind === 'job'} onChange={setRoll} />
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
