/** Counts by namespace, state and so on; a click narrows down, another one widens again. */
import type { Facets } from '../api/types';
import type { Data } from '../api/use-data';
import { STATES, toneOf } from '../components/state-badge';
import { ErrorBox } from '../components/states';
import { count } from '../i18n/format';
import type { FilterProps } from './spec';
import { t } from './strings';

interface FacetPanelProps<S, D extends string> extends FilterProps<S, D> {
  data: Data<Facets>;
  shown: readonly D[];
}

const MOST = 12;

export function FacetPanel<S, D extends string>({ data, spec, state, set, shown }: FacetPanelProps<S, D>) {
  if (data.error && !data.data) return <ErrorBox error={data.error} retry={data.reload} />;
  return (
    <div class="facets">
      {shown.map(dimension => {
        const facet = data.data?.facets.find(one => one.by === spec.facet(dimension));
        if (
          !facet ||
          (facet.values.length < 2 && !facet.values.some(one => spec.has(state, dimension, String(one.value))))
        )
          return null;
        const values =
          facet.by === 'state'
            ? [...facet.values].sort((a, b) => worst(String(b.value)) - worst(String(a.value)))
            : facet.values;
        const more = facet.more + Math.max(0, values.length - MOST);
        return (
          <section key={dimension} class="facet">
            <h2 class="minor">{spec.title(dimension)}</h2>
            <ul>
              {values.slice(0, MOST).map(one => {
                const value = String(one.value);
                const on = spec.has(state, dimension, value);
                return (
                  <li key={value}>
                    <button
                      type="button"
                      class="facet-value"
                      aria-pressed={on}
                      onClick={() =>
                        set(on ? spec.remove(state, { dimension, value }) : spec.add(state, dimension, value), 'push')
                      }
                    >
                      {facet.by === 'state' && <span class={`facet-dot tone-${toneOf(value)}`} />}
                      <span class="ellipsis grow">{spec.word(dimension, value, one.name)}</span>
                      <span class="facet-count">{count(one.count)}</span>
                    </button>
                  </li>
                );
              })}
            </ul>
            {more > 0 && <p class="facet-more">{t().moreValues(count(more))}</p>}
          </section>
        );
      })}
    </div>
  );
}

const worst = (state: string) => STATES.indexOf(state);
