/** What the server wants the agent to hold beside what it holds. */
import { useState } from 'preact/hooks';
import { get } from '../../api/client';
import type { Held } from '../../api/types';
import { useData } from '../../api/use-data';
import { Icon } from '../../components/icon';
import { Empty, Loaded } from '../../components/states';
import { count } from '../../i18n/format';
import { sentence } from '../../i18n/reasons';
import { segment } from '../../url/codec';
import { paths } from '../../url/paths';
import { t } from './strings';

export function HeldDiff({ host, connected }: { host: string; connected: boolean }) {
  const [only, setOnly] = useState(true);
  const answer = useData(connected ? `held ${host}` : null, signal =>
    get<Held>(`/hosts/${segment(host)}/held`, {}, signal),
  );
  const words = t();
  if (!connected) return <Empty icon="away" title={words.diffAway} />;
  return (
    <Loaded {...answer} lines={6}>
      {held => {
        const different = held.processes.filter(one => one.differs.length > 0);
        const shown = only ? different : held.processes;
        return (
          <div class="stack">
            <div class="line">
              {different.length === 0 ? (
                <span class="state tone-good">
                  <Icon name="tick" size={14} /> {words.same}
                </span>
              ) : (
                <strong class="tone-warn">{words.differences(count(different.length))}</strong>
              )}
              <label class="line">
                <input type="checkbox" checked={only} onChange={event => setOnly(event.currentTarget.checked)} />
                {words.onlyDifferent}
              </label>
            </div>
            {shown.length > 0 && (
              <table class="held">
                <thead>
                  <tr>
                    <th scope="col">{words.process}</th>
                    <th scope="col">{words.wanted}</th>
                    <th scope="col">{words.held}</th>
                    <th scope="col">{words.differs}</th>
                  </tr>
                </thead>
                <tbody>
                  {shown.map(one => (
                    <tr key={one.process} class={one.differs.length > 0 ? 'held-differs' : ''}>
                      <td>
                        <a href={paths.instance(one.process, host)}>{one.process}</a>
                      </td>
                      <td>
                        {one.wanted.registered ? one.wanted.flag : <span class="muted">{words.notRegistered}</span>}
                      </td>
                      <td>
                        {one.held ? `${one.held.flag} · ${one.held.phase}` : <span class="muted">{words.notHeld}</span>}
                      </td>
                      <td>{one.differs.map((text, at) => sentence(one.reasons[at], text)).join('; ')}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            )}
            {held.foreign.length > 0 && (
              <section class="stack-tight">
                <h2 class="minor">{words.foreign}</h2>
                <ul>
                  {held.foreign.map(one => (
                    <li key={one.process}>
                      <a href={paths.instance(one.process, host)}>{one.process}</a>:{' '}
                      {words.foreignLine(one.pid, one.program, one.user)} <code class="muted">{one.pid_path}</code>
                    </li>
                  ))}
                </ul>
              </section>
            )}
          </div>
        );
      }}
    </Loaded>
  );
}
