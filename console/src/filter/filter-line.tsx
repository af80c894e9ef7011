/** One line of chips with a field. `state:failed` makes a chip, other text searches, pasted addresses become hosts. */
import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { Facets } from '../api/types';
import { Button } from '../components/button';
import { Combobox, type Option } from '../components/combobox';
import { Icon } from '../components/icon';
import { count } from '../i18n/format';
import { useKeys } from '../keys/keys';
import type { FilterProps, FilterSpec } from './spec';
import { t } from './strings';

interface FilterLineProps<S, D extends string> extends FilterProps<S, D> {
  facets: Facets | null;
  /** The name of the list, in the help of the keys. */
  list: string;
  label: string;
  hint: string;
  /** At the end of the line. */
  children?: ComponentChildren;
}

export function FilterLine<S, D extends string>(props: FilterLineProps<S, D>) {
  const { spec, state, set, facets } = props;
  const [text, setText] = useState('');
  const input = useRef<HTMLInputElement | null>(null);
  const words = t();
  const chips = spec.chips(state);

  useKeys(props.list, { '/': { label: props.label, run: () => input.current?.focus() } });

  const choose = (option: Option | null) => {
    const typed = text.trim();
    if (option?.value.endsWith(':')) {
      setText(option.value);
      return;
    }
    const token = spec.readToken(option?.value ?? typed);
    if (token) {
      if (token.value !== '') set(spec.add(state, token.dimension, token.value), 'push');
      setText('');
    } else if (typed !== '') {
      set(spec.addresses(state, typed)?.patch ?? spec.add(state, spec.text, typed), 'push');
      setText('');
    }
  };

  return (
    <div class="filter-line" role="search">
      <Icon name="filter" size={14} />
      {chips.map(chip => (
        <span key={`${chip.dimension} ${chip.value}`} class="filter-chip">
          <span class="filter-chip-name">{spec.title(chip.dimension)}</span>
          <span class="ellipsis">
            {spec.word(chip.dimension, chip.value, nameOf(spec, facets, chip.dimension, chip.value))}
          </span>
          <button
            type="button"
            class="filter-chip-remove"
            aria-label={words.removeFilter(`${spec.title(chip.dimension)} ${chip.value}`)}
            onClick={() => {
              set(spec.remove(state, chip), 'push');
              input.current?.focus();
            }}
          >
            <Icon name="close" size={11} />
          </button>
        </span>
      ))}
      <Combobox
        label={props.label}
        placeholder={chips.length === 0 ? props.hint : ''}
        value={text}
        onInput={setText}
        options={suggestions(spec, text, facets)}
        onChoose={choose}
        inputRef={input}
        onKeyDown={event => {
          const last = chips[chips.length - 1];
          if (event.key === 'Backspace' && text === '' && last) set(spec.remove(state, last), 'push');
          else if (event.key === 'Escape') input.current?.blur();
        }}
        onPaste={event => {
          const addresses = spec.addresses(state, event.clipboardData?.getData('text') ?? '');
          if (!addresses || addresses.found < 2) return;
          event.preventDefault();
          set(addresses.patch, 'push');
        }}
      />
      {chips.length > 0 && (
        <Button kind="quiet" size="small" onClick={() => set(spec.none, 'push')}>
          {words.clearAll}
        </Button>
      )}
      {props.children}
    </div>
  );
}

function nameOf<S, D extends string>(
  spec: FilterSpec<S, D>,
  facets: Facets | null,
  dimension: D,
  value: string,
): string | null {
  const facet = facets?.facets.find(one => one.by === spec.facet(dimension));
  return facet?.values.find(one => String(one.value) === value)?.name ?? null;
}

interface Value {
  value: string;
  name?: string | null | undefined;
  count?: number;
}

function suggestions<S, D extends string>(spec: FilterSpec<S, D>, text: string, facets: Facets | null): Option[] {
  const typed = text.trim().toLowerCase();
  const token = spec.readToken(text);
  const valuesOf = (dimension: D): Value[] => {
    const facet = facets?.facets.find(one => one.by === spec.facet(dimension));
    if (facet) return facet.values.map(one => ({ value: String(one.value), name: one.name, count: one.count }));
    return spec.fixed(dimension).map(value => ({ value }));
  };
  const fits = (dimension: D, one: Value, wanted: string) =>
    `${one.value} ${one.name ?? ''} ${spec.word(dimension, one.value)}`.toLowerCase().includes(wanted);
  const option = (dimension: D, one: Value): Option => ({
    value: `${dimension}:${one.value}`,
    label: `${spec.title(dimension)}: ${spec.word(dimension, one.value, one.name)}`,
    note: one.count === undefined ? undefined : count(one.count),
  });
  if (token) {
    return valuesOf(token.dimension)
      .filter(one => fits(token.dimension, one, token.value.toLowerCase()))
      .slice(0, 30)
      .map(one => option(token.dimension, one));
  }
  const dimensions = spec.dimensions
    .filter(one => one !== spec.text)
    .filter(one => typed === '' || one.startsWith(typed) || spec.title(one).toLowerCase().includes(typed))
    .map(one => ({ value: `${one}:`, label: `${spec.title(one)}…`, note: `${one}:` }));
  if (typed === '') return dimensions;
  const values = spec.quick.flatMap(dimension =>
    valuesOf(dimension)
      .filter(one => fits(dimension, one, typed))
      .slice(0, 6)
      .map(one => option(dimension, one)),
  );
  return [{ value: `${spec.text}:${text.trim()}`, label: t().searchFor(text.trim()) }, ...values, ...dimensions];
}
