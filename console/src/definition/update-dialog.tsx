/** The confirmation of another definition: what changes, on how many hosts, and whether in batches or at once. */
import { useEffect, useId, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { ApiError } from '../api/errors';
import type { Plan } from '../api/types';
import { Button } from '../components/button';
import { Dialog } from '../components/dialog';
import { ErrorBox, Skeleton } from '../components/states';
import { toast } from '../components/toast';
import { t as common } from '../i18n/common';
import { count } from '../i18n/format';
import { isForbidden, PlanBlocked, TypeNumber } from '../operate/plan';
import { readRoll, rollDefaults } from '../operate/roll';
import { Roll } from '../operate/roll-fields';
import { t as operateWords } from '../operate/strings';
import { mustType } from '../operate/target';
import { paths } from '../url/paths';
import { planUpdate, rollUpdate, type Update, updateAtOnce } from './api';
import { ChangeList } from './change-list';
import type { FieldChange } from './changes';
import { t } from './strings';

interface UpdateDialogProps {
  update: Update;
  changes: FieldChange[];
  /** The hosts have different definitions now. */
  differ: boolean;
  onClose: () => void;
}

export default function UpdateDialog({ update, changes, differ, onClose }: UpdateDialogProps) {
  const { route } = useLocation();
  const words = t();
  const [plan, setPlan] = useState<Plan | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [refused, setRefused] = useState<Error | null>(null);
  const [movedFrom, setMovedFrom] = useState<number | null>(null);
  const [attempt, setAttempt] = useState(0);
  const [how, setHow] = useState<'roll' | 'once'>('roll');
  const [roll, setRoll] = useState(rollDefaults('update'));
  const [typed, setTyped] = useState('');
  const [busy, setBusy] = useState(false);
  const name = useId();

  useEffect(() => {
    let current = true;
    setError(null);
    planUpdate(update).then(
      found => current && setPlan(found),
      failed => current && setError(failed),
    );
    return () => {
      current = false;
    };
  }, [attempt]);

  const asked = readRoll(roll, 'update');
  const why = plan ? mustType(plan) : null;
  const hosts = plan ? words.onHosts(plan.count, count(plan.count)) : '';
  const blocked = !plan
    ? words.planning
    : plan.count === 0
      ? words.nothing
      : isForbidden(plan)
        ? words.notAllowed
        : how === 'roll' && asked.wrong.length > 0
          ? operateWords().rollWrong
          : why && typed.replace(/\D/g, '') !== String(plan.count)
            ? operateWords().type(count(plan.count))
            : null;

  const run = async () => {
    if (!plan) return;
    setBusy(true);
    setRefused(null);
    try {
      if (how === 'roll') {
        const { id } = await rollUpdate(update, asked.options, plan.count);
        onClose();
        route(paths.job(id));
        return;
      }
      const results = await updateAtOnce(update);
      const failed = results.filter(one => one.code !== 0);
      const of = (n: number) => words.onHosts(n, count(n));
      if (failed.length < results.length) toast(() => words.done(of(results.length - failed.length)), 'good');
      if (failed.length > 0) toast(() => words.someFailed(of(failed.length), failed[0]?.message ?? ''), 'bad', 0);
      onClose();
      route(paths.process(update.process, { tab: 'history' }));
    } catch (failed) {
      setBusy(false);
      if (failed instanceof ApiError && failed.code === 'count_changed') {
        setMovedFrom(plan.count);
        setPlan(null);
        setAttempt(attempt + 1);
      } else setRefused(failed as Error);
    }
  };

  return (
    <Dialog
      wide
      title={'version' in update ? words.rollback(update.process, update.version) : words.update(update.process)}
      onClose={onClose}
      footer={
        <>
          <Button autofocus onClick={onClose}>
            {common().cancel}
          </Button>
          <Button kind="primary" busy={busy} blocked={blocked} onClick={run}>
            {how === 'roll' ? words.begin(hosts) : words.apply(hosts)}
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
        {movedFrom !== null && plan && (
          <p class="note note-warn" role="alert">
            {words.moved(count(movedFrom), count(plan.count))}
          </p>
        )}
        {error && <ErrorBox title={words.planFailed} error={error} retry={() => setAttempt(attempt + 1)} />}
        {!plan && !error && <Skeleton lines={5} />}
        {plan && (
          <>
            <dl class="facts plan-facts">
              <dt>{words.where}</dt>
              <dd class="plan-number">{hosts}</dd>
            </dl>
            <section class="stack-tight">
              <h3>{words.changes}</h3>
              <ChangeList changes={changes} />
              {differ && <p class="note">{words.differ}</p>}
            </section>
            <PlanBlocked plan={plan} one={false} />
            <fieldset class="update-how">
              <legend class="visually-hidden">{words.how}</legend>
              {(['roll', 'once'] as const).map(one => (
                <label key={one}>
                  <input type="radio" name={name} checked={how === one} onChange={() => setHow(one)} />
                  <span>{one === 'roll' ? words.roll : words.atOnce}</span>
                </label>
              ))}
            </fieldset>
            {how === 'roll' && (
              <Roll
                always
                draft={roll}
                op="update"
                total={plan.count}
                inBusiness={false}
                onChange={next => next && setRoll(next)}
              />
            )}
            {why && <TypeNumber why={why} number={plan.count} typed={typed} onTyped={setTyped} />}
          </>
        )}
        {refused && <ErrorBox title={words.refused} error={refused} />}
      </form>
    </Dialog>
  );
}
