/** One line of chips with a field. `state:failed` makes a chip, other text searches, pasted addresses become hosts. */
import { useRef, useState } from 'preact/hooks';
import type { Facets } from '../../api/types';
import { Button } from '../../components/button';
import { Combobox, type Option } from '../../components/combobox';
import { Icon } from '../../components/icon';
import { envWord, stateWord } from '../../i18n/common';
import { count } from '../../i18n/format';
import { useKeys } from '../../keys/keys';
import type { SetState } from '../../url/state';
import {
  addValue,
  chipsOf,
  DIMENSIONS,
  type Dimension,
  FACETS,
  type ListState,
  NO_FILTER,
  readAddresses,
  readToken,
  removeValue,
} from './filter';
import { t } from './strings';

interface FilterLineProps {
  state: ListState;
  set: SetState<ListState>;
  facets: Facets | null;
}

export function valueWord(dimension: Dimension, value: string, name?: string | null): string {
  const words = t();
  if (dimension === 'state') return stateWord(value);
  if (dimension === 'env') return envWord(value);
  if (dimension === 'managed' || dimension === 'restart') return value === 'true' ? words.yes : words.no;
  if (dimension === 'connected') return value === 'true' ? words.connected : words.away;
  if (dimension === 'wanted') return value === 'running' ? words.wanted.running : words.wanted.stopped;
  return name ? `${name} (${value})` : value;
}

const FIXED: Partial<Record<Dimension, string[]>> = {
  state: ['running', 'starting', 'unhealthy', 'backoff', 'failed', 'stopped', 'completed', 'scheduled', 'unknown'],
  wanted: ['running', 'stopped'],
  managed: ['true', 'false'],
  connected: ['true', 'false'],
  restart: ['true', 'false'],
  env: ['test', 'experience', 'formal'],
};

export function FilterLine({ state, set, facets }: FilterLineProps) {
  const [text, setText] = useState('');
  const input = useRef<HTMLInputElement | null>(null);
  const words = t();
  const chips = chipsOf(state);

  useKeys(words.title, { '/': { label: words.filterLabel, run: () => input.current?.focus() } });

  const add = (dimension: Dimension, value: string) => {
    if (value !== '') set(addValue(state, dimension, value), 'push');
    setText('');
  };

  const choose = (option: Option | null) => {
    const typed = text.trim();
    if (option?.value.endsWith(':')) {
      setText(option.value);
      return;
    }
    const token = readToken(option?.value ?? typed);
    if (token) add(token.dimension, token.value);
    else if (typed !== '') {
      const addresses = readAddresses(typed);
      if (addresses) set({ host: [...new Set([...state.host, ...addresses])] }, 'push');
      else set(addValue(state, 'q', typed), 'push');
      setText('');
    }
  };

  return (
    <div class="filter-line" role="search">
      <Icon name="filter" size={14} />
      {chips.map(chip => (
        <span key={`${chip.dimension} ${chip.value}`} class="filter-chip">
          <span class="filter-chip-name">{words.dims[chip.dimension]}</span>
          <span class="ellipsis">
            {valueWord(chip.dimension, chip.value, nameOf(facets, chip.dimension, chip.value))}
          </span>
          <button
            type="button"
            class="filter-chip-remove"
            aria-label={words.removeFilter(`${words.dims[chip.dimension]} ${chip.value}`)}
            onClick={() => {
              set(removeValue(state, chip), 'push');
              input.current?.focus();
            }}
          >
            <Icon name="close" size={11} />
          </button>
        </span>
      ))}
      <Combobox
        label={words.filterLabel}
        placeholder={chips.length === 0 ? words.filterHint : ''}
        value={text}
        onInput={setText}
        options={suggestions(text, facets)}
        onChoose={choose}
        inputRef={input}
        onKeyDown={event => {
          const last = chips[chips.length - 1];
          if (event.key === 'Backspace' && text === '' && last) set(removeValue(state, last), 'push');
          else if (event.key === 'Escape') input.current?.blur();
        }}
        onPaste={event => {
          const addresses = readAddresses(event.clipboardData?.getData('text') ?? '');
          if (!addresses || addresses.length < 2) return;
          event.preventDefault();
          set({ host: [...new Set([...state.host, ...addresses])] }, 'push');
        }}
      />
      {chips.length > 0 && (
        <Button kind="quiet" size="small" onClick={() => set(NO_FILTER, 'push')}>
          {words.clearAll}
        </Button>
      )}
    </div>
  );
}

function nameOf(facets: Facets | null, dimension: Dimension, value: string): string | null {
  const facet = facets?.facets.find(one => one.by === FACETS[dimension]);
  return facet?.values.find(one => String(one.value) === value)?.name ?? null;
}

function suggestions(text: string, facets: Facets | null): Option[] {
  const words = t();
  const typed = text.trim().toLowerCase();
  const token = readToken(text);
  const valuesOf = (dimension: Dimension): { value: string; name?: string | null | undefined; count?: number }[] => {
    const facet = facets?.facets.find(one => one.by === FACETS[dimension]);
    if (facet) return facet.values.map(one => ({ value: String(one.value), name: one.name, count: one.count }));
    return (FIXED[dimension] ?? []).map(value => ({ value }));
  };
  const option = (
    dimension: Dimension,
    one: { value: string; name?: string | null | undefined; count?: number },
  ): Option => ({
    value: `${dimension}:${one.value}`,
    label: `${words.dims[dimension]}: ${valueWord(dimension, one.value, one.name)}`,
    note: one.count === undefined ? undefined : count(one.count),
  });
  if (token) {
    const wanted = token.value.toLowerCase();
    return valuesOf(token.dimension)
      .filter(one =>
        `${one.value} ${one.name ?? ''} ${valueWord(token.dimension, one.value)}`.toLowerCase().includes(wanted),
      )
      .slice(0, 30)
      .map(one => option(token.dimension, one));
  }
  const dimensions = DIMENSIONS.filter(one => one !== 'q')
    .filter(one => typed === '' || one.startsWith(typed) || words.dims[one].toLowerCase().includes(typed))
    .map(one => ({ value: `${one}:`, label: `${words.dims[one]}…`, note: `${one}:` }));
  if (typed === '') return dimensions;
  const values = (['state', 'ns', 'name', 'business', 'version'] as Dimension[]).flatMap(dimension =>
    valuesOf(dimension)
      .filter(one => `${one.value} ${one.name ?? ''} ${valueWord(dimension, one.value)}`.toLowerCase().includes(typed))
      .slice(0, 6)
      .map(one => option(dimension, one)),
  );
  return [{ value: `q:${text.trim()}`, label: words.searchFor(text.trim()) }, ...values, ...dimensions];
}
