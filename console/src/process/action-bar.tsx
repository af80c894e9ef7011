/** Sticks to the bottom while something is selected: how much, and what can be done with it. */
import { may } from '../api/session';
import type { Operation, Process, ProcessFilter } from '../api/types';
import { Button } from '../components/button';
import { Menu } from '../components/menu';
import { t as common, opWord, reasonWord } from '../i18n/common';
import { count } from '../i18n/format';
import { useKeys } from '../keys/keys';
import { askOperation } from '../operate/host';
import type { OperateTarget } from '../operate/target';
import type { Rows } from '../table/rows';
import { everything, NOTHING, type Selection, selectedCount } from '../table/selection';
import { blockedReason, OPERATIONS } from './actions';
import './action-bar.css';
import { t } from './strings';

interface ActionBarProps {
  selection: Selection;
  onSelect: (selection: Selection) => void;
  rows: Rows<Process>;
  filter: ProcessFilter;
}

export function targetOf(selection: Selection, filter: ProcessFilter): OperateTarget {
  return selection.kind === 'keys'
    ? { kind: 'keys', keys: [...selection.keys] }
    : { kind: 'query', filter, except: [...selection.except], count: selectedCount(selection) };
}

export function ActionBar({ selection, onSelect, rows, filter }: ActionBarProps) {
  return (
    <SelectionBar
      selection={selection}
      onSelect={onSelect}
      rows={rows}
      blocked={blockedReason}
      ask={op => askOperation(op, targetOf(selection, filter))}
    />
  );
}

interface SelectionBarProps<T> {
  selection: Selection;
  onSelect: (selection: Selection) => void;
  rows: Rows<T>;
  /** Why an operation cannot be asked for of one row. */
  blocked: (row: T, op: Operation) => string | null;
  ask: (op: Operation) => void;
  word?: (op: Operation) => string;
  more?: { label: string; href: string }[];
}

export function SelectionBar<T>(props: SelectionBarProps<T>) {
  const { selection, onSelect, rows, word = opWord } = props;
  const number = selectedCount(selection);
  const words = common();
  const total = rows.count.value ?? 0;
  const ask = (op: Operation) => {
    if (number > 0 && !blocked(op)) props.ask(op);
  };

  /** The reason that all selected rows share, as far as they are loaded. A selection by query is checked by the dry run. */
  const blocked = (op: Operation): string | null => {
    if (!may('operator')) return reasonWord('role');
    if (selection.kind === 'query') return null;
    let shared: string | null = null;
    for (const key of selection.keys) {
      const index = rows.indexOf(key);
      const row = index === undefined ? undefined : rows.row(index);
      const reason = row && props.blocked(row, op);
      if (!reason || (shared !== null && shared !== reason)) return null;
      shared = reason;
    }
    return shared;
  };

  useKeys(t().selection, {
    s: { label: word('start'), run: () => ask('start') },
    'Shift+s': { label: word('stop'), run: () => ask('stop') },
    r: { label: word('restart'), run: () => ask('restart') },
    '.': { label: t().actions, run: () => document.querySelector<HTMLElement>('.action-bar .button')?.focus() },
  });

  if (number === 0) return null;
  return (
    <div class="action-bar" role="toolbar" aria-label={t().actions}>
      <span class="action-count">
        {words.table.selected(number, count(number))}
        {selection.kind === 'query' && selection.except.size > 0 && (
          <span class="muted"> · {words.table.except(count(selection.except.size))}</span>
        )}
      </span>
      {selection.kind === 'keys' && number < total && (
        <Button size="small" kind="quiet" onClick={() => onSelect(everything(total))}>
          {words.table.allMatch(count(total))}
        </Button>
      )}
      <span class="grow" />
      {OPERATIONS.filter(one => one.main).map(({ op, icon }) => (
        <Button key={op} icon={icon} blocked={blocked(op)} onClick={() => ask(op)}>
          {word(op)}
        </Button>
      ))}
      <Menu
        class="menu-up"
        side="right"
        items={[
          ...OPERATIONS.filter(one => !one.main).map(({ op, icon }) => ({
            label: word(op),
            icon,
            blocked: blocked(op),
            onSelect: () => ask(op),
          })),
          ...(props.more ?? []),
        ]}
      >
        {words.more}
      </Menu>
      <Button kind="quiet" icon="close" label={words.table.unselect} onClick={() => onSelect(NOTHING)} />
    </div>
  );
}
