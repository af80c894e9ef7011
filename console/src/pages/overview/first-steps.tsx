/** An empty installation: how to add a host and register a process. Turns into the overview when something is there. */
import { CopyButton } from '../../components/copy-button';
import { count } from '../../i18n/format';
import { t } from './strings';

export function FirstSteps({ hosts }: { hosts: number }) {
  const words = t();
  const agent = [
    'muster token create --expires-in 1h',
    `MUSTER_JOIN_TOKEN=TOKEN MUSTER_SERVER=${location.hostname}:7101 muster-agent --ip ADDRESS`,
  ].join('\n');
  const register = ["muster register demo/sleeper --start 'sleep 1000'", 'muster start demo/sleeper'].join('\n');
  return (
    <div class="page first-steps">
      <div>
        <h1>{words.first}</h1>
        <p class="muted">{words.firstText}</p>
      </div>
      <Step title={words.addHost} text={words.addHostText} commands={agent} done={hosts > 0 ? count(hosts) : ''} />
      <Step title={words.register} text={words.registerText} commands={register} done="" />
    </div>
  );
}

function Step({ title, text, commands, done }: { title: string; text: string; commands: string; done: string }) {
  return (
    <section class="card">
      <div class="card-head">
        <h2 class="grow">{title}</h2>
        {done && <span class="chip">{done}</span>}
      </div>
      <div class="card-body stack">
        <p>{text}</p>
        <div class="first-command">
          <pre class="code-block">{commands}</pre>
          <CopyButton text={commands} />
        </div>
      </div>
    </section>
  );
}
