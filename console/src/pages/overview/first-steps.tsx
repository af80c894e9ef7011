/** An empty installation: how to add a host and register a process. Turns into the overview when something is there. */
import type { ComponentChildren } from 'preact';
import { Icon } from '../../components/icon';
import { count } from '../../i18n/format';
import { Commands } from '../../join/commands';
import { Join } from '../../join/join';
import { t } from './strings';

const LOOP = 'while date; do sleep 1; done';

export function FirstSteps({ hosts }: { hosts: number }) {
  const words = t();
  const register = [
    `muster login ${location.origin}`,
    `muster register demo/clock --start '${LOOP}'`,
    'muster start demo/clock',
  ].join('\n');
  return (
    <div class="page first-steps">
      <div>
        <h1>{words.first}</h1>
        <p class="muted">{words.firstText}</p>
      </div>
      <Step number={1} title={words.addHost} done={hosts > 0 ? words.hosts(hosts, count(hosts)) : ''}>
        <p>{hosts > 0 ? words.moreHostsText : words.addHostText}</p>
        <Join />
      </Step>
      <Step number={2} title={words.register} done="">
        <p>{words.registerText}</p>
        <Commands text={register} />
        <p class="muted" role="status">
          {words.waiting}
        </p>
      </Step>
    </div>
  );
}

interface StepProps {
  number: number;
  title: string;
  done: string;
  children: ComponentChildren;
}

function Step({ number, title, done, children }: StepProps) {
  return (
    <section class="card">
      <div class="card-head">
        <h2 class="grow">
          {number}. {title}
        </h2>
        {done && (
          <span class="state tone-good">
            <Icon name="tick" size={13} />
            {done}
          </span>
        )}
      </div>
      <div class="card-body stack">{children}</div>
    </section>
  );
}
