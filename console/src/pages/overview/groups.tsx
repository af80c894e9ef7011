/** Namespaces and businesses with a bar of their states, worst first. Four requests, however many there are. */

import { useRef } from 'preact/hooks';
import { facets } from '../../api/calls';
import type { Facets } from '../../api/types';
import { useData } from '../../api/use-data';
import { Bar } from '../../components/state-bar';
import { ErrorBox, Skeleton } from '../../components/states';
import { count } from '../../i18n/format';
import { useLive } from '../../live/live';
import { paths } from '../../url/paths';
import { type Group, groupsOf, STATES_OF } from './group-counts';
import { t } from './strings';

const SHOWN = 14;

export function Groups() {
  const answer = useData('groups', async signal => {
    const by = ['namespace', 'business'];
    const ask = (state?: string[]): Promise<Facets> => facets(by, state ? { state } : {}, signal);
    const [all, bad, warn, idle] = await Promise.all([
      ask(),
      ask(STATES_OF.bad),
      ask(STATES_OF.warn),
      ask(STATES_OF.idle),
    ]);
    return {
      namespaces: groupsOf('namespace', { all, bad, warn, idle }),
      businesses: groupsOf('business', { all, bad, warn, idle }),
    };
  });
  const timer = useRef<ReturnType<typeof setTimeout>>();
  useLive({ kinds: ['summary'] }, () => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      answer.reload();
    }, 5000);
  });
  if (answer.error && !answer.data) return <ErrorBox error={answer.error} retry={answer.reload} />;
  if (!answer.data) return <Skeleton lines={8} />;
  return (
    <div class="stack">
      <GroupCard
        title={t().namespaces}
        groups={answer.data.namespaces}
        href={group => paths.processes({ ns: group.value, sort: 'state' })}
      />
      {answer.data.businesses.length > 0 && (
        <GroupCard
          title={t().businesses}
          groups={answer.data.businesses}
          href={group => paths.processes({ business: group.value, sort: 'state' })}
        />
      )}
    </div>
  );
}

function GroupCard({ title, groups, href }: { title: string; groups: Group[]; href: (group: Group) => string }) {
  const words = t();
  return (
    <section class="card">
      <div class="card-head">
        <h2>{title}</h2>
        <span class="muted">{words.worstFirst}</span>
      </div>
      <ul class="card-body groups">
        {groups.slice(0, SHOWN).map(group => (
          <li key={group.value}>
            <a class="group" href={href(group)}>
              <span class="group-name ellipsis">{group.name ?? group.value}</span>
              <span class="group-bad">{group.bad + group.warn > 0 ? count(group.bad + group.warn) : ''}</span>
              <Bar
                label={group.name ?? group.value}
                parts={[
                  { key: 'good', word: words.good, tone: 'good', count: group.good },
                  { key: 'idle', word: words.idle, tone: 'idle', count: group.idle },
                  { key: 'warn', word: words.warn, tone: 'warn', count: group.warn },
                  { key: 'bad', word: words.bad, tone: 'bad', count: group.bad },
                ]}
              />
              <span class="group-count number">{count(group.all)}</span>
            </a>
          </li>
        ))}
      </ul>
    </section>
  );
}
