/** All processes: find any subset, look at one without leaving the list, act on what is selected. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import { facets as loadFacets } from '../../api/calls';
import { useData } from '../../api/use-data';
import { Button } from '../../components/button';
import { Empty } from '../../components/states';
import { FacetPanel } from '../../filter/facet-panel';
import { FilterLine } from '../../filter/filter-line';
import '../../filter/list.css';
import { ListTools } from '../../filter/list-tools';
import { useMoved } from '../../filter/use-moved';
import { t as common } from '../../i18n/common';
import { count } from '../../i18n/format';
import { language } from '../../i18n/i18n';
import { Commands } from '../../join/commands';
import { useKeys } from '../../keys/keys';
import { isProcessKey, processKey } from '../../operate/target';
import { ActionBar } from '../../process/action-bar';
import { processColumns } from '../../process/columns';
import { useProcessRows } from '../../process/use-rows';
import { useTitle } from '../../shell/title';
import { NOTHING, type Selection } from '../../table/selection';
import { Table } from '../../table/table';
import { useUrlState } from '../../url/state';
import { chipsOf, FACETS, listState, NO_FILTER, stillMatches, toFilter } from './filter';
import { ProcessDrawer } from './process-drawer';
import { SHOWN, SPEC } from './spec';
import { t } from './strings';

const FACET_NAMES = [...new Set([...SHOWN, 'name' as const].map(one => FACETS[one]!))];

export default function ProcessesPage() {
  const [state, set] = useUrlState(listState);
  const [selection, setSelection] = useState<Selection>(NOTHING);
  const [panel, setPanel] = useState(false);
  const words = t();
  useTitle(words.title);
  const filter = useMemo(() => toFilter(state), [JSON.stringify(toFilter(state))]);
  const columns = useMemo(processColumns, [language.value]);

  const { rows: table, onShown } = useProcessRows(filter, state.sort);
  useEffect(() => setSelection(NOTHING), [JSON.stringify(filter)]);

  const facetData = useData(`facets ${JSON.stringify(filter)}`, signal => loadFacets(FACET_NAMES, filter, signal));
  const moved = useMoved(facetData.data?.count ?? null, table, facetData.reload);

  useKeys(words.title, state.open ? { Escape: { label: common().close, run: () => set({ open: '' }) } } : {});

  const total = table.count.value;
  const chips = chipsOf(state);
  const filtered = chips
    .map(chip => `${words.dims[chip.dimension]} ${SPEC.word(chip.dimension, chip.value)}`)
    .join(', ');

  return (
    <div class="processes">
      <div class="processes-head">
        <h1>{words.title}</h1>
        {total !== null && <span class="muted processes-count">{count(total)}</span>}
        <ListTools
          facets={facetData}
          rows={table}
          moved={moved}
          panel={panel}
          onPanel={setPanel}
          words={{ panel: words.showFacets, copyLink: words.copyLink }}
          columns={columns}
          chosen={state.cols}
          onChoose={cols => set({ cols })}
        />
      </div>
      <FilterLine
        spec={SPEC}
        state={state}
        set={set}
        facets={facetData.data}
        list={words.title}
        label={words.filterLabel}
        hint={words.filterHint}
      />
      <div class="processes-body">
        <aside class={`processes-facets ${panel ? 'is-open' : ''}`} aria-label={words.facets} tabIndex={-1}>
          <FacetPanel data={facetData} spec={SPEC} shown={SHOWN} state={state} set={set} />
        </aside>
        <div class="processes-list">
          <Table
            rows={table}
            columns={columns}
            chosen={state.cols}
            label={words.title}
            rowName={row => `${row.namespace}/${row.name} ${row.host}`}
            sort={state.sort}
            onSort={sort => set({ sort })}
            selection={selection}
            onSelect={setSelection}
            onOpen={row => set({ open: processKey(row) }, state.open ? 'replace' : 'push')}
            opened={state.open}
            isGone={row => !stillMatches(row, state)}
            onShown={onShown}
            empty={
              chips.length > 0 ? (
                <Empty
                  title={words.nothing}
                  action={<Button onClick={() => set(NO_FILTER, 'push')}>{common().table.clearFilter}</Button>}
                >
                  {common().table.emptyFilter(filtered)}
                </Empty>
              ) : (
                <FirstProcess />
              )
            }
          />
          <ActionBar selection={selection} onSelect={setSelection} rows={table} filter={filter} />
        </div>
        {isProcessKey(state.open) && <ProcessDrawer open={state.open} onClose={() => set({ open: '' })} />}
      </div>
    </div>
  );
}

function FirstProcess() {
  const commands = "muster register demo/sleeper --start 'sleep 1000'\nmuster start demo/sleeper";
  return (
    <Empty icon="processes" title={t().noneYet}>
      <p>{t().noneYetText}</p>
      <Commands text={commands} />
    </Empty>
  );
}
