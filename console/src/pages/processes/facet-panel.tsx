/** Counts by namespace, state and so on; a click narrows down, another one widens again. */

import { ApiError } from '../../api/errors';
import type { Facets } from '../../api/types';
import type { Data } from '../../api/use-data';
import { STATES, toneOf } from '../../components/state-badge';
import { ErrorBox } from '../../components/states';
import { count } from '../../i18n/format';
import type { SetState } from '../../url/state';
import { addValue, type Dimension, FACETS, hasValue, type ListState, removeValue } from './filter';
import { valueWord } from './filter-line';
import { t } from './strings';

export const SHOWN: Dimension[] = [
  'state',
  'ns',
  'business',
  'env',
  'wanted',
  'managed',
  'connected',
  'cloud',
  'version',
];

interface FacetPanelProps {
  data: Data<Facets>;
  state: ListState;
  set: SetState<ListState>;
}

export function FacetPanel({ data, state, set }: FacetPanelProps) {
  const words = t();
  if (data.error && !data.data) {
    // A server without facets: the filter line still works.
    if (data.error instanceof ApiError && data.error.status === 404) return null;
    return <ErrorBox error={data.error} retry={data.reload} />;
  }
  return (
    <div class="facets">
      {SHOWN.map(dimension => {
        const facet = data.data?.facets.find(one => one.by === FACETS[dimension]);
        if (
          !facet ||
          (facet.values.length < 2 && !facet.values.some(one => hasValue(state, dimension, String(one.value))))
        )
          return null;
        const values =
          dimension === 'state'
            ? [...facet.values].sort((a, b) => worst(String(b.value)) - worst(String(a.value)))
            : facet.values;
        return (
          <section key={dimension} class="facet">
            <h2 class="minor">{words.dims[dimension]}</h2>
            <ul>
              {values.slice(0, 12).map(one => {
                const value = String(one.value);
                const on = hasValue(state, dimension, value);
                return (
                  <li key={value}>
                    <button
                      type="button"
                      class="facet-value"
                      aria-pressed={on}
                      onClick={() =>
                        set(on ? removeValue(state, { dimension, value }) : addValue(state, dimension, value), 'push')
                      }
                    >
                      {dimension === 'state' && <span class={`facet-dot tone-${toneOf(value)}`} />}
                      <span class="ellipsis grow">{valueWord(dimension, value, one.name)}</span>
                      <span class="facet-count">{count(one.count)}</span>
                    </button>
                  </li>
                );
              })}
            </ul>
            {facet.more + Math.max(0, values.length - 12) > 0 && (
              <p class="facet-more">{words.moreValues(count(facet.more + Math.max(0, values.length - 12)))}</p>
            )}
          </section>
        );
      })}
    </div>
  );
}

const worst = (state: string) => STATES.indexOf(state);
