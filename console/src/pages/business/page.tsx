/** The process view of a business: tree, filter or expression, processes with their instances, jobs. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import { ApiError } from '../../api/errors';
import { useData } from '../../api/use-data';
import { tree as loadTree, type ViewProcess, viewFacets } from '../../business/api';
import { jobBlocked } from '../../business/blocked';
import {
  NO_VIEW_FILTER,
  selectionState,
  toViewFilter,
  VIEW_SPEC,
  type ViewDimension,
  viewState,
} from '../../business/filter';
import { BusinessHead, useBusiness } from '../../business/head';
import { type JobTarget, jobAction } from '../../business/jobs';
import { t as shared } from '../../business/strings';
import { Button } from '../../components/button';
import { Empty, errorText } from '../../components/states';
import { FacetPanel } from '../../filter/facet-panel';
import { FilterLine } from '../../filter/filter-line';
import '../../filter/list.css';
import { ListTools } from '../../filter/list-tools';
import { useMoved } from '../../filter/use-moved';
import { t as common, opWord } from '../../i18n/common';
import { count } from '../../i18n/format';
import { language } from '../../i18n/i18n';
import { askOperation } from '../../operate/host';
import { SelectionBar } from '../../process/action-bar';
import { useTitle } from '../../shell/title';
import { NOTHING, type Selection, selectedCount } from '../../table/selection';
import { Table } from '../../table/table';
import { paths } from '../../url/paths';
import { useUrlState } from '../../url/state';
import './business.css';
import { viewColumns } from './columns';
import { ViewDrawer } from './drawer';
import { ExpressionField } from './expression';
import { t } from './strings';
import { Tree } from './tree';
import { useViewRows } from './use-view-rows';

const SHOWN: ViewDimension[] = ['status', 'state', 'env', 'managed', 'connected', 'cloud'];
const FACETS = ['env', 'set', 'module', 'service', 'name', 'status', 'state', 'managed', 'connected', 'cloud'];

export default function BusinessPage() {
  const id = useBusiness();
  const [state, set] = useUrlState(viewState);
  const [selection, setSelection] = useState<Selection>(NOTHING);
  const [panel, setPanel] = useState(false);
  const [expression, setExpression] = useState(state.expr !== '');
  const words = t();
  useTitle(words.title);
  const key = JSON.stringify(toViewFilter(state));
  const filter = useMemo(() => toViewFilter(state), [key]);
  const columns = useMemo(() => viewColumns(expand => set({ expand })), [language.value, set]);
  const { rows, lines, onShown } = useViewRows(id, filter, state.sort, state.expand);
  useEffect(() => setSelection(NOTHING), [key, id]);
  useEffect(() => {
    if (state.expr !== '') setExpression(true);
  }, [state.expr]);

  const facets = useData(`view facets ${id} ${key}`, signal => viewFacets(id, FACETS, filter, signal));
  const tree = useData(`tree ${id} ${state.env}`, signal => loadTree(id, state.env, signal));
  const moved = useMoved(
    facets.data?.count ?? null,
    rows,
    () => {
      facets.reload();
      tree.reload();
    },
    ['summary', 'topology'],
  );

  if (tree.error instanceof ApiError && tree.error.status === 404 && !tree.data)
    return (
      <Empty
        whole
        icon="businesses"
        title={shared().noSuch}
        action={<a href={paths.businesses()}>{shared().businesses}</a>}
      >
        {shared().noSuchText}
      </Empty>
    );

  const total = rows.count.value;
  const chips = VIEW_SPEC.chips(state);
  const refused = rows.error.value instanceof ApiError && rows.error.value.field === 'expr' ? rows.error.value : null;
  const filtered = [
    ...chips.map(chip => `${VIEW_SPEC.title(chip.dimension)} ${VIEW_SPEC.word(chip.dimension, chip.value)}`),
    ...(state.expr ? [state.expr] : []),
  ].join(', ');

  const target = (): JobTarget => {
    if (selection.kind === 'keys')
      return { business: id, filter: { id: [...selection.keys] }, except: [], count: selection.keys.size };
    return { business: id, filter, except: [...selection.except].map(Number), count: selectedCount(selection) };
  };
  const releaseQuery =
    selection.kind === 'keys' ? selectionState.write({ id: [...selection.keys] }) : selectionState.write(state);

  const expandAt = (row: ViewProcess, open: boolean) => {
    const key = String(row.id);
    if (row.instances.length < 2 || open === state.expand.includes(key)) return;
    set({ expand: open ? [...state.expand, key] : state.expand.filter(one => one !== key) });
  };

  return (
    <div class="processes">
      <BusinessHead
        id={id}
        active="processes"
        title={
          <>
            {words.title} {total !== null && <span class="muted processes-count">{count(total)}</span>}
          </>
        }
      >
        <ListTools
          facets={facets}
          rows={rows}
          moved={moved}
          panel={panel}
          onPanel={setPanel}
          words={{ panel: words.showTree, copyLink: words.copyLink }}
          columns={columns}
          chosen={state.cols}
          onChoose={cols => set({ cols })}
        />
      </BusinessHead>
      <div class="view-filter">
        <FilterLine
          spec={VIEW_SPEC}
          state={state}
          set={set}
          facets={facets.data}
          list={words.title}
          label={words.filterLabel}
          hint={words.filterHint}
        >
          <Button
            kind="quiet"
            size="small"
            pressed={expression}
            onClick={() => {
              if (expression && state.expr) set({ expr: '' }, 'push');
              setExpression(!expression);
            }}
          >
            {words.expression}
          </Button>
        </FilterLine>
        {expression && <ExpressionField business={id} state={state} set={set} tree={tree.data?.sets ?? []} />}
      </div>
      <div class="processes-body">
        <aside class={`processes-facets view-side ${panel ? 'is-open' : ''}`} aria-label={words.side} tabIndex={-1}>
          <Tree data={tree} state={state} set={set} />
          <FacetPanel data={facets} spec={VIEW_SPEC} shown={SHOWN} state={state} set={set} />
        </aside>
        <div class="processes-list">
          {refused ? (
            <Empty title={words.badExpression}>{errorText(refused)}</Empty>
          ) : (
            <Table
              rows={lines}
              columns={columns}
              chosen={state.cols}
              label={words.title}
              rowName={({ row }) => `${row.name} ${row.host}`}
              sort={state.sort}
              onSort={sort => set({ sort })}
              selection={selection}
              onSelect={setSelection}
              onOpen={({ row }) => set({ open: String(row.id) }, state.open ? 'replace' : 'push')}
              opened={state.open}
              isPart={({ instance }) => instance !== null}
              isGone={({ row }) => !stillMatches(row, state)}
              onExpand={({ row }, open) => expandAt(row, open)}
              total={total ?? undefined}
              onShown={onShown}
              empty={
                filtered !== '' ? (
                  <Empty
                    title={words.nothing}
                    action={<Button onClick={() => set(NO_VIEW_FILTER, 'push')}>{common().table.clearFilter}</Button>}
                  >
                    {common().table.emptyFilter(filtered)}
                  </Empty>
                ) : (
                  <Empty
                    icon="businesses"
                    title={words.noProcesses}
                    action={<a href={paths.businessView(id, 'topology')}>{shared().importOne}</a>}
                  />
                )
              }
            />
          )}
          <SelectionBar
            selection={selection}
            onSelect={setSelection}
            rows={rows}
            blocked={jobBlocked}
            word={op => opWord(jobAction(op))}
            ask={op => askOperation(op, { kind: 'job', ...target() })}
            more={[{ label: words.release, href: paths.businessView(id, 'release') + releaseQuery }]}
          />
        </div>
        {state.open && <ViewDrawer business={id} open={state.open} onClose={() => set({ open: '' })} />}
      </div>
    </div>
  );
}

/** Whether a row that changed still matches, as far as a live change can tell. */
function stillMatches(
  row: ViewProcess,
  state: { status: string[]; state: string[]; managed: boolean | null },
): boolean {
  if (state.status.length > 0 && !state.status.includes(row.status)) return false;
  if (state.managed !== null && row.managed !== state.managed) return false;
  return state.state.length === 0 || row.instances.some(one => state.state.includes(one.state));
}
