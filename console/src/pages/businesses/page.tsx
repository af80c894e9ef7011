/** The businesses, each with a bar of the states of its processes. */
import { facets } from '../../api/calls';
import type { Business } from '../../api/types';
import { useData } from '../../api/use-data';
import { businesses } from '../../business/api';
import '../../business/business.css';
import { t as shared } from '../../business/strings';
import '../../components/field.css';
import { Icon } from '../../components/icon';
import { StateBar } from '../../components/state-bar';
import { Empty, Loaded } from '../../components/states';
import { Ago } from '../../components/time';
import { stateWord } from '../../i18n/common';
import { count } from '../../i18n/format';
import { useThrottled } from '../../live/throttled';
import { PROCESS_STATES } from '../../process/states';
import { useTitle } from '../../shell/title';
import { paths } from '../../url/paths';
import './businesses.css';
import { t } from './strings';

const BAD = ['failed', 'backoff', 'unhealthy'];

/** One request for each state, however many businesses there are. */
async function statesOf(signal: AbortSignal): Promise<Map<number, Record<string, number>>> {
  const answers = await Promise.all(PROCESS_STATES.map(state => facets(['business'], { state: [state] }, signal)));
  const found = new Map<number, Record<string, number>>();
  answers.forEach((answer, index) => {
    for (const { value, count: n } of answer.facets[0]?.values ?? []) {
      const id = Number(value);
      if (value === null || value === '') continue;
      found.set(id, { ...found.get(id), [PROCESS_STATES[index] ?? '']: n });
    }
  });
  return found;
}

export default function BusinessesPage() {
  const words = t();
  useTitle(shared().businesses);
  const answer = useData('businesses', businesses);
  const states = useData('business states', statesOf);
  useThrottled(['summary', 'topology'], () => {
    answer.reload();
    states.reload();
  });
  return (
    <div class="page">
      <div class="page-head">
        <h1>{shared().businesses}</h1>
        {answer.data && <span class="muted">{count(answer.data.businesses.length)}</span>}
        <span class="grow" />
        <a class="button button-small" href={paths.businessView(0, 'topology')}>
          <Icon name="plus" size={13} /> <span class="button-text">{shared().importOne}</span>
        </a>
      </div>
      <Loaded {...answer} lines={5}>
        {({ businesses: all }) =>
          all.length === 0 ? (
            <Empty
              icon="businesses"
              title={shared().noneYet}
              action={<a href={paths.businessView(0, 'topology')}>{shared().importOne}</a>}
            >
              {shared().noneYetText}
            </Empty>
          ) : (
            <ul class="card business-list" aria-label={words.list}>
              {all.map(one => (
                <Row key={one.id} business={one} states={states.data?.get(one.id) ?? null} />
              ))}
            </ul>
          )
        }
      </Loaded>
    </div>
  );
}

function Row({ business, states }: { business: Business; states: Record<string, number> | null }) {
  const words = t();
  const bad = BAD.filter(state => (states?.[state] ?? 0) > 0);
  return (
    <li class="business-row">
      <div class="business-name">
        <a href={paths.business(business.id)}>{business.name || business.id}</a>{' '}
        <span class="muted">{business.id}</span>
      </div>
      <div class="business-bar">
        {states ? <StateBar states={states} label={business.name} /> : <span class="state-bar" />}
        <span class="business-bad">
          {bad.map(state => (
            <a key={state} class="tone-bad" href={paths.business(business.id, { state })}>
              {count(states?.[state] ?? 0)} {stateWord(state)}
            </a>
          ))}
        </span>
      </div>
      <div class="business-counts muted">
        {words.counts(
          count(business.sets),
          count(business.modules),
          count(business.processes),
          business.processes,
          business.sets,
          business.modules,
        )}
      </div>
      <div class="business-origin muted">
        {business.origin === 'cmdb' ? words.cmdb : words.given} · <Ago at={business.refreshed_at} />
        {business.troubles.length > 0 && (
          <a class="tone-warn business-trouble" href={paths.businessView(business.id, 'topology')}>
            <Icon name="warning" size={13} />{' '}
            {words.troubles(business.troubles.length, count(business.troubles.length))}
          </a>
        )}
      </div>
    </li>
  );
}
