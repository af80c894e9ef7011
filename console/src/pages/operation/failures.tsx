/** Failures by code and reason. A group filters the table; its targets can be tried again and its hosts copied. */
import type { FailureGroup } from '../../api/types';
import { Button } from '../../components/button';
import { CopyButton } from '../../components/copy-button';
import { errorText } from '../../components/states';
import { toast } from '../../components/toast';
import { count } from '../../i18n/format';
import { paths } from '../../url/paths';
import type { SetState } from '../../url/state';
import type { OperationState } from './page';
import type { Source } from './source';
import { t } from './strings';

interface FailuresProps {
  groups: FailureGroup[];
  state: OperationState;
  set: SetState<OperationState>;
  source: Source;
  mayRetry: boolean;
  /** Why this user may not. */
  blocked: string | null;
}

export function Failures({ groups, state, set, source, mayRetry, blocked }: FailuresProps) {
  const words = t();
  return (
    <section class="failures" aria-label={words.failures}>
      <h2>{words.failures}</h2>
      <ul>
        {groups.slice(0, 8).map(group => {
          const code = String(group.code);
          const chosen = state.code === code && state.reason === group.reason;
          const filter = { status: 'failed', code, reason: group.reason };
          const retry = () =>
            source.retry({ code: group.code, reason: group.reason }).then(
              answer =>
                toast(
                  () => (answer.task_id ? <a href={paths.task(answer.task_id)}>{words.retried}</a> : words.retried),
                  'good',
                ),
              (error: Error) => toast(() => `${words.refused}: ${errorText(error)}`, 'bad'),
            );
          return (
            <li key={`${code} ${group.reason}`} class={`failure ${chosen ? 'is-chosen' : ''}`}>
              <span class="failure-count">{count(group.count)}</span>
              <span class="grow failure-text">
                {group.reason} <span class="muted nowrap">{words.code(group.code)}</span>
                <span class="muted failure-hosts"> · {group.hosts.join(', ')}</span>
              </span>
              <Button
                size="small"
                kind="quiet"
                pressed={chosen}
                onClick={() => set(chosen ? { status: '', code: '', reason: '' } : filter)}
              >
                {chosen ? words.showAll : words.showThese}
              </Button>
              {mayRetry && (
                <Button size="small" kind="quiet" icon="restart" blocked={blocked} onClick={retry}>
                  {words.retryThese}
                </Button>
              )}
              <CopyButton text={() => source.hosts({ ...filter, q: '' })} label={words.copyHosts} />
            </li>
          );
        })}
      </ul>
    </section>
  );
}
