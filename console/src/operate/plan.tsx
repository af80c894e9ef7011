/** What a dry run says: how many, where, which commands, what will not change; and the number that must be typed. */
import { useEffect, useId, useRef } from 'preact/hooks';
import type { Plan } from '../api/types';
import '../components/field.css';
import { Icon } from '../components/icon';
import { envWord, reasonWord } from '../i18n/common';
import { count } from '../i18n/format';
import './dialog.css';
import { t } from './strings';

/** The role of the user does not allow it for all of them. */
export const isForbidden = (plan: Plan) => plan.blocked.some(one => one.reason === 'role');

export function PlanBlocked({ plan, one: isOne }: { plan: Plan; one: boolean }) {
  const words = t();
  if (plan.blocked.length === 0) return null;
  return (
    <div class={`note ${isForbidden(plan) ? 'note-bad' : 'note-warn'}`}>
      <p class="line">
        <Icon name="warning" size={14} /> <strong>{words.blocked}</strong>
      </p>
      <ul class="plan-blocked">
        {plan.blocked.map(one => (
          <li key={one.reason}>
            {words.blockedLine(count(one.count), reasonWord(one.reason))}
            {one.hosts.length > 0 && !isOne && <span class="muted"> · {words.someHosts(one.hosts.join(', '))}</span>}
          </li>
        ))}
      </ul>
    </div>
  );
}

export function PlanFacts({ plan, only, silent }: { plan: Plan; only: string | null; silent: boolean }) {
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

export function TypeNumber({
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
