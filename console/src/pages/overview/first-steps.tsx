/** An empty installation: how to add a host and register a process. Turns into the overview when something is there. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { post } from '../../api/client';
import { may } from '../../api/session';
import { Button } from '../../components/button';
import { CopyButton } from '../../components/copy-button';
import { Icon } from '../../components/icon';
import { errorText } from '../../components/states';
import { reasonWord } from '../../i18n/common';
import { count } from '../../i18n/format';
import { joinCommand } from '../../shell/join-command';
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

/** A token is made when asked for: it lets machines in. */
function Join() {
  const words = t();
  const [token, setToken] = useState('');
  const [error, setError] = useState<Error | null>(null);
  const [busy, setBusy] = useState(false);
  const make = async () => {
    setBusy(true);
    setError(null);
    try {
      setToken((await post<{ token: string }>('/tokens', { expires_in: '1h' })).token);
    } catch (refused) {
      setError(refused as Error);
    }
    setBusy(false);
  };
  if (token)
    return (
      <>
        <Commands text={joinCommand(token)} />
        <p class="muted">{words.joinText}</p>
      </>
    );
  return (
    <>
      <div class="line">
        <Button icon="plus" busy={busy} blocked={may('admin') ? null : reasonWord('role')} onClick={make}>
          {words.makeToken}
        </Button>
      </div>
      {error && (
        <p class="note note-bad" role="alert">
          {errorText(error)}
        </p>
      )}
    </>
  );
}

function Commands({ text }: { text: string }) {
  return (
    <div class="first-command">
      <pre class="code-block">{text}</pre>
      <CopyButton text={text} />
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
