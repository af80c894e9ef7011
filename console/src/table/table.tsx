/**
 * The table of all lists: a grid of 28 px rows, at most 64 of them in the DOM, however many match. It knows nothing of what
 * it shows; pages give it rows, columns, and what to do when a row is opened.
 */
import { Component, type ComponentChildren } from 'preact';
import { useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Icon } from '../components/icon';
import { ErrorBox } from '../components/states';
import { t } from '../i18n/common';
import { useKeys } from '../keys/keys';
import type { RowSource } from './rows';
import {
  clampOffset,
  type Geometry,
  isScaled,
  ROW_HEIGHT,
  revealRow,
  scrollHeight,
  toOffset,
  toScrollTop,
  visibleRows,
} from './scroll';
import { boxState, everything, isSelected, NOTHING, type Selection, setSelected, toggle } from './selection';
import { t as words } from './strings';
import './table.css';

export interface Column<T> {
  key: string;
  title: string;
  /** In pixels. A column with `grow` gets a share of the rest. */
  width: number;
  grow?: number;
  cell: (row: T) => ComponentChildren;
  /** The word by which the API orders. */
  sort?: string;
  align?: 'right';
  /** Columns with the largest number are left out first where the table is narrow. 0: always shown. */
  rank: number;
  /** Not shown unless chosen. */
  extra?: boolean;
}

interface TableProps<T> {
  rows: RowSource<T>;
  columns: Column<T>[];
  /** Keys of columns that the user chose; empty for the default ones. */
  chosen?: string[];
  label: string;
  rowName: (row: T) => string;
  /** In the address: `state`, `-cpu`. */
  sort?: string;
  onSort?: (sort: string) => void;
  selection?: Selection;
  onSelect?: (selection: Selection) => void;
  onOpen?: (row: T) => void;
  /** The row whose drawer is open. */
  opened?: string;
  /** Rows below another one, which are not selected by themselves. */
  isPart?: (row: T) => boolean;
  /** Right and left on a row show and hide what is below it. */
  onExpand?: (row: T, open: boolean) => void;
  /** How many match, where more rows are shown than do. */
  total?: number | undefined;
  /** Rows that no longer match the filter. */
  isGone?: (row: T) => boolean;
  empty: ComponentChildren;
  /** Rows are asked to be shown; the page hears which, for live changes. */
  onShown?: (keys: string[]) => void;
  height?: 'fill' | 'content';
}

const BOX = 34;

export function Table<T>(props: TableProps<T>) {
  const { rows, selection, onSelect } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  const [offset, setOffset] = useState(0);
  const [active, setActive] = useState(-1);
  const [anchor, setAnchor] = useState(-1);
  const expected = useRef(0);
  const id = useId();
  const count = rows.count.value ?? 0;
  // Reading it renders again when a row has changed.
  const version = rows.version.value;
  const fits = props.height === 'content';
  const view = fits ? Math.min(count * ROW_HEIGHT, 16 * ROW_HEIGHT) : Math.max(0, size.height - ROW_HEIGHT);
  const geometry: Geometry = { count, view };
  const { first, end, shift } = visibleRows(offset, geometry);
  const columns = useMemo(
    () => chooseColumns(props.columns, props.chosen ?? [], size.width - (onSelect ? BOX : 0)),
    [props.columns, props.chosen?.join(), size.width, Boolean(onSelect)],
  );

  useLayoutEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setSize({ width: element.clientWidth, height: element.clientHeight }));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  useEffect(() => rows.show(first, end), [rows, first, end, count]);

  const shownKeys = rows.keys(first, end);
  const shown = shownKeys.join('\n');
  useEffect(() => props.onShown?.(shownKeys), [shown]);

  const scrollTo = (wanted: number) => {
    const next = clampOffset(wanted, geometry);
    setOffset(next);
    const element = scroller.current;
    if (!element) return;
    element.scrollTop = toScrollTop(next, geometry);
    expected.current = element.scrollTop;
  };

  // Another filter begins at the top, before the next key is read.
  useLayoutEffect(() => {
    scrollTo(0);
    setActive(-1);
  }, [rows]);

  // Over a scaled scrollbar a notch of the wheel would jump many rows, so the wheel moves the rows and the scrollbar follows.
  useEffect(() => {
    const element = scroller.current;
    if (!element || !isScaled(geometry)) return;
    const wheel = (event: WheelEvent) => {
      if (event.ctrlKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) return;
      event.preventDefault();
      const unit = event.deltaMode === 1 ? ROW_HEIGHT : event.deltaMode === 2 ? view : 1;
      setOffset(now => {
        const next = clampOffset(now + event.deltaY * unit, geometry);
        element.scrollTop = toScrollTop(next, geometry);
        expected.current = element.scrollTop;
        return next;
      });
    };
    element.addEventListener('wheel', wheel, { passive: false });
    return () => element.removeEventListener('wheel', wheel);
  }, [count, view]);

  const move = (to: number) => {
    const next = Math.min(Math.max(0, to), count - 1);
    if (next < 0) return;
    setActive(next);
    scrollTo(revealRow(next, offset, geometry));
  };

  /** Takes the focus, so that Enter opens the row and not the button that was used last. */
  const step = (by: number) => {
    scroller.current?.focus({ preventScroll: true });
    move(active + by);
  };

  const keyAt = (index: number) => {
    const row = rows.row(index);
    return row === undefined ? undefined : rows.keyOf(row);
  };

  const select = (index: number, range: boolean) => {
    const key = keyAt(index);
    const row = rows.row(index);
    if (!selection || !onSelect || key === undefined || row === undefined || props.isPart?.(row)) return;
    if (range && anchor >= 0) {
      const anchorKey = keyAt(anchor);
      const on = anchorKey === undefined || isSelected(selection, anchorKey);
      onSelect(setSelected(selection, rows.keys(Math.min(anchor, index), Math.max(anchor, index) + 1), on));
    } else onSelect(toggle(selection, key));
    setAnchor(index);
  };

  const open = (index: number) => {
    const row = rows.row(index);
    if (row !== undefined) props.onOpen?.(row);
  };

  // The same functions for all renders, so that rows which stay the same are not drawn again.
  const latest = useRef({ select, open });
  latest.current = { select, open };
  const handlers = useMemo(
    () => ({
      onSelect: (index: number, range: boolean) => {
        setActive(index);
        latest.current.select(index, range);
      },
      onClick: (index: number) => {
        setActive(index);
        latest.current.open(index);
      },
    }),
    [],
  );

  useKeys(words().group, {
    j: { label: words().next, run: () => step(1) },
    k: { label: words().previous, run: () => step(-1) },
    ...(onSelect && selection
      ? {
          x: { label: words().select, run: () => active >= 0 && select(active, false) },
          'Shift+x': { label: words().range, run: () => active >= 0 && select(active, true) },
          a: { label: words().all, run: () => onSelect(everything(props.total ?? count)) },
          Escape: { label: t().table.unselect, run: () => onSelect(NOTHING), hidden: true },
        }
      : {}),
    ...(props.onOpen ? { Enter: { label: words().open, run: () => active >= 0 && open(active) } } : {}),
  });

  const gridKeys = (event: KeyboardEvent) => {
    const page = Math.max(1, Math.floor(view / ROW_HEIGHT) - 1);
    const steps: Record<string, number> = {
      ArrowDown: active + 1,
      ArrowUp: active - 1,
      PageDown: active + page,
      PageUp: active - page,
      Home: 0,
      End: count - 1,
    };
    if (event.target !== scroller.current || event.ctrlKey || event.altKey) return;
    const to = steps[event.key];
    if (to !== undefined) move(to);
    else if (event.key === ' ' && active >= 0) select(active, event.shiftKey);
    else if (event.key === 'Enter' && active >= 0) open(active);
    else if ((event.key === 'ArrowRight' || event.key === 'ArrowLeft') && props.onExpand && active >= 0) {
      const row = rows.row(active);
      if (row !== undefined) props.onExpand(row, event.key === 'ArrowRight');
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };

  const minWidth = columns.reduce((sum, column) => sum + column.width, onSelect ? BOX : 0);
  const template =
    (onSelect ? `${BOX}px ` : '') +
    columns
      .map(column => (column.grow ? `minmax(${column.width}px, ${column.grow}fr)` : `${column.width}px`))
      .join(' ');

  const drawn = [];
  for (let index = first; index < end; index++) {
    const row = rows.row(index);
    const key = row === undefined ? undefined : rows.keyOf(row);
    drawn.push(
      <TableRow<T>
        key={index}
        id={`${id}-${index}`}
        index={index}
        row={row}
        columns={columns}
        template={template}
        selectable={Boolean(onSelect)}
        selected={Boolean(selection && key !== undefined && isSelected(selection, key))}
        active={index === active}
        opened={key !== undefined && key === props.opened}
        part={Boolean(row !== undefined && props.isPart?.(row))}
        gone={Boolean(row !== undefined && props.isGone?.(row))}
        name={row === undefined ? '' : props.rowName(row)}
        {...handlers}
      />,
    );
  }

  const known = rows.count.value !== null;
  const header = onSelect && selection ? boxState(selection, shownKeys) : 'none';
  return (
    <div class={`table ${fits ? 'table-content' : ''}`} aria-busy={rows.loading.value}>
      {rows.error.value && (
        <div class="table-error">
          <ErrorBox error={rows.error.value} retry={() => rows.reload()} />
        </div>
      )}
      <div
        class="table-scroll"
        ref={scroller}
        role="grid"
        tabIndex={0}
        aria-label={props.label}
        aria-rowcount={known ? count + 1 : -1}
        aria-colcount={columns.length + (onSelect ? 1 : 0)}
        aria-multiselectable={onSelect ? true : undefined}
        aria-activedescendant={active >= first && active < end ? `${id}-${active}` : undefined}
        style={fits ? { height: `${view + ROW_HEIGHT}px` } : {}}
        onKeyDown={gridKeys}
        onFocus={event => {
          if (event.target === scroller.current && active < 0 && count > 0) setActive(first);
        }}
        onScroll={() => {
          const top = scroller.current?.scrollTop ?? 0;
          if (Math.abs(top - expected.current) < 1) return;
          expected.current = top;
          setOffset(toOffset(top, geometry));
        }}
      >
        <div
          class="table-length"
          role="presentation"
          style={{ height: `${scrollHeight(geometry) + ROW_HEIGHT}px`, minWidth: `${minWidth}px` }}
        >
          <div class="table-window" role="presentation" style={{ height: `${view + ROW_HEIGHT}px` }}>
            <div class="table-head" role="row" aria-rowindex={1} style={{ gridTemplateColumns: template }}>
              {onSelect && selection && (
                <span class="cell cell-box" role="columnheader">
                  <input
                    type="checkbox"
                    tabIndex={-1}
                    aria-label={t().table.selectLoaded}
                    checked={header === 'all'}
                    ref={box => {
                      if (box) box.indeterminate = header === 'some';
                    }}
                    onClick={() =>
                      onSelect(header === 'none' ? setSelected(selection, loadedKeys(rows, first), true) : NOTHING)
                    }
                  />
                </span>
              )}
              {columns.map(column => (
                <Heading key={column.key} column={column} sort={props.sort ?? ''} onSort={props.onSort} />
              ))}
            </div>
            <div
              class="table-rows"
              role="rowgroup"
              style={{ transform: `translateY(${-shift}px)` }}
              data-version={version}
            >
              {drawn}
            </div>
          </div>
        </div>
      </div>
      {known && count === 0 && <div class="table-empty">{props.empty}</div>}
      {!known && !rows.error.value && <FirstLoad />}
    </div>
  );
}

/** The page of 200 that the first visible row is on. */
function loadedKeys<T>(rows: RowSource<T>, first: number): string[] {
  const start = Math.floor(first / 200) * 200;
  return rows.keys(start, start + 200);
}

function FirstLoad() {
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 200);
    return () => clearTimeout(timer);
  }, []);
  if (!late) return null;
  return (
    <div class="table-skeleton" role="status" aria-label={t().loading}>
      {Array.from({ length: 8 }, (_, index) => (
        <span key={index} class={`skeleton-line skeleton-${index % 3}`} />
      ))}
    </div>
  );
}

function Heading<T>({
  column,
  sort,
  onSort,
}: {
  column: Column<T>;
  sort: string;
  onSort: ((sort: string) => void) | undefined;
}) {
  const by = column.sort;
  const direction = by && sort === by ? 'ascending' : by && sort === `-${by}` ? 'descending' : undefined;
  const align = column.align === 'right' ? 'number' : '';
  if (!by || !onSort)
    return (
      <span class={`cell ellipsis ${align}`} role="columnheader">
        {column.title}
      </span>
    );
  // First click: as it is ordered by nature. Second: the other way. Third: not at all.
  const next = direction === undefined ? by : direction === 'ascending' ? `-${by}` : '';
  return (
    <span class={`cell ${align}`} role="columnheader" aria-sort={direction ?? 'none'}>
      <button
        type="button"
        class="table-sort"
        tabIndex={-1}
        title={t().table.sortBy(column.title)}
        onClick={() => onSort(next)}
      >
        <span class="ellipsis">{column.title}</span>
        {direction && <Icon name={direction === 'ascending' ? 'up' : 'down'} size={12} />}
      </button>
    </span>
  );
}

interface TableRowProps<T> {
  id: string;
  index: number;
  row: T | undefined;
  columns: Column<T>[];
  template: string;
  selectable: boolean;
  selected: boolean;
  active: boolean;
  opened: boolean;
  part: boolean;
  gone: boolean;
  name: string;
  onSelect: (index: number, range: boolean) => void;
  onClick: (index: number) => void;
}

const COMPARED = ['id', 'row', 'columns', 'template', 'selected', 'active', 'opened', 'part', 'gone'] as const;

/** A class, because most rows stay the same while others change ten times a second. */
class TableRow<T> extends Component<TableRowProps<T>> {
  override shouldComponentUpdate(next: TableRowProps<T>) {
    return COMPARED.some(key => next[key] !== this.props[key]);
  }

  override render({
    id,
    index,
    row,
    columns,
    template,
    selectable,
    selected,
    active,
    opened,
    part,
    gone,
    name,
    onSelect,
    onClick,
  }: TableRowProps<T>) {
    const classes = [
      'table-row',
      selected && 'is-selected',
      active && 'is-active',
      opened && 'is-opened',
      gone && 'is-gone',
      part && 'is-part',
    ]
      .filter(Boolean)
      .join(' ');
    return (
      <div
        id={id}
        class={classes}
        role="row"
        aria-rowindex={index + 2}
        aria-selected={selectable ? selected : undefined}
        title={gone ? t().table.gone : undefined}
        style={{ gridTemplateColumns: template }}
        onClick={event => {
          if (event.target instanceof Element && event.target.closest('a, button, input, .cell-box')) return;
          if (!getSelection()?.isCollapsed) return;
          onClick(index);
        }}
      >
        {selectable && (
          <span class="cell cell-box" role="gridcell">
            {row !== undefined && !part && (
              <input
                type="checkbox"
                tabIndex={-1}
                aria-label={t().table.selectRow(name)}
                checked={selected}
                onClick={event => onSelect(index, event.shiftKey)}
              />
            )}
          </span>
        )}
        {columns.map(column => (
          <span key={column.key} class={`cell ellipsis ${column.align === 'right' ? 'number' : ''}`} role="gridcell">
            {row === undefined ? <span class="cell-wait" /> : column.cell(row)}
          </span>
        ))}
      </div>
    );
  }
}

/** Chosen columns are all shown, over a horizontal scrollbar if need be. Of the default ones the least important go where it is narrow. */
export function chooseColumns<T>(columns: Column<T>[], chosen: string[], width: number): Column<T>[] {
  if (chosen.length > 0) return columns.filter(column => chosen.includes(column.key) || column.rank === 0);
  const shown = columns.filter(column => !column.extra);
  const total = () => shown.reduce((sum, column) => sum + column.width, 0);
  while (width > 0 && total() > width) {
    const least = shown.reduce((worst, column) => (column.rank >= worst.rank ? column : worst));
    if (least.rank === 0) break;
    shown.splice(shown.indexOf(least), 1);
  }
  return shown;
}
