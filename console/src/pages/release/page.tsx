/** Release config files in steps: which processes and templates, what would change, roll out. */
import { useEffect, useId, useMemo, useState } from 'preact/hooks';
import { post } from '../../api/client';
import { useData } from '../../api/use-data';
import { type JobPage, job, templates as loadTemplates, type Template, view, viewFacets } from '../../business/api';
import { mayOperate } from '../../business/blocked';
import { FileList, fileKey, loadFiles, stateOfFile } from '../../business/files';
import {
  type SelectionState,
  selectionState,
  toViewFilter,
  VIEW_SPEC,
  type ViewState,
  viewState,
} from '../../business/filter';
import { BusinessHead, useBusiness } from '../../business/head';
import { Button } from '../../components/button';
import '../../components/field.css';
import { ErrorBox, Loaded, Skeleton } from '../../components/states';
import { FilterLine } from '../../filter/filter-line';
import '../../filter/list.css';
import { envWord, reasonWord } from '../../i18n/common';
import { count } from '../../i18n/format';
import { askOperation } from '../../operate/host';
import { useTitle } from '../../shell/title';
import { choice, codec, list } from '../../url/codec';
import { paths } from '../../url/paths';
import { useUrlState } from '../../url/state';
import './release.css';
import { t } from './strings';

const STEPS = ['range', 'files', 'roll'] as const;
type Step = (typeof STEPS)[number];

interface ReleaseState {
  step: Step;
  templates: string[];
}

const own = codec<ReleaseState>({ step: choice(STEPS, 'range'), templates: list() });

/** Both in one address. */
const both = {
  read: (search: string) => ({ ...viewState.read(search), ...own.read(search) }),
  write: (state: Partial<ViewState & ReleaseState>) => {
    const parts = [selectionState.write(state as SelectionState), own.write(state)].filter(Boolean);
    return parts.length === 0 ? '' : `?${parts.map(one => one.slice(1)).join('&')}`;
  },
};

/** More processes than this are released without looking at each file. */
const MOST = 200;

export default function ReleasePage() {
  const business = useBusiness();
  const [state, set] = useUrlState(both);
  const words = t();
  useTitle(words.title);
  const key = JSON.stringify(toViewFilter(state));
  const filter = useMemo(() => toViewFilter(state), [key]);
  const facets = useData(`release ${business} ${key}`, signal =>
    viewFacets(business, ['env', 'set', 'module', 'name', 'status', 'state'], filter, signal),
  );
  const templates = useData(`templates ${business}`, signal => loadTemplates(business, signal));
  const chosen = state.templates.map(Number);
  const number = facets.data?.count ?? 0;
  const step = (next: Step) => set({ step: next }, 'push');
  return (
    <div class="page">
      <BusinessHead id={business} active="release" title={words.title} />
      <ol class="steps" aria-label={words.steps}>
        {STEPS.map((one, index) => (
          <li key={one} aria-current={one === state.step ? 'step' : undefined}>
            <button type="button" onClick={() => step(one)}>
              <span class="step-number">{index + 1}</span> {words.names[one]}
            </button>
          </li>
        ))}
      </ol>
      {state.step === 'range' && (
        <div class="stack">
          <div class="release-filter">
            <FilterLine
              spec={VIEW_SPEC as never}
              state={state}
              set={set as never}
              facets={facets.data}
              list={words.title}
              label={words.filterLabel}
              hint={words.filterHint}
            />
          </div>
          {state.expr && (
            <p class="line">
              <span class="chip">
                <code>{state.expr}</code>
              </span>
              <button type="button" class="link-button" onClick={() => set({ expr: '' }, 'push')}>
                {words.dropExpression}
              </button>
            </p>
          )}
          <Loaded {...facets}>
            {found => (
              <p class="line">
                <strong>{words.processes(found.count, count(found.count))}</strong>
                <span class="muted">
                  {(found.facets.find(one => one.by === 'env')?.values ?? [])
                    .map(one => `${envWord(String(one.value))} ${count(one.count)}`)
                    .join(' · ')}
                </span>
                <a href={paths.business(business) + selectionState.write(state)}>{words.showThem}</a>
              </p>
            )}
          </Loaded>
          <Loaded {...templates}>
            {({ templates: all }) => (
              <TemplateChoice
                all={all}
                chosen={chosen}
                onChoose={next => set({ templates: next.map(String) })}
                business={business}
              />
            )}
          </Loaded>
          <div class="line">
            <Button kind="primary" blocked={number === 0 ? words.nothing : null} onClick={() => step('files')}>
              {words.next}
            </Button>
          </div>
        </div>
      )}
      {state.step === 'files' && (
        <Files
          key={`${key} ${state.templates.join()}`}
          business={business}
          filter={filter}
          templates={chosen}
          onNext={() => step('roll')}
        />
      )}
      {state.step === 'roll' && (
        <RollOut business={business} filter={filter} templates={chosen} number={number} back={() => step('files')} />
      )}
    </div>
  );
}

function TemplateChoice({
  all,
  chosen,
  onChoose,
  business,
}: {
  all: Template[];
  chosen: number[];
  onChoose: (ids: number[]) => void;
  business: number;
}) {
  const words = t();
  return (
    <fieldset class="card release-templates">
      <legend class="visually-hidden">{words.templates}</legend>
      <div class="card-head">
        <h2 class="grow">{words.templates}</h2>
        <span class="muted">{chosen.length === 0 ? words.allBound : count(chosen.length)}</span>
      </div>
      <ul class="card-body">
        {all.length === 0 && <li class="muted">{words.noTemplates}</li>}
        {all.map(one => (
          <li key={one.id} class="line">
            <label class="line">
              <input
                type="checkbox"
                checked={chosen.includes(one.id)}
                onChange={event =>
                  onChoose(event.currentTarget.checked ? [...chosen, one.id] : chosen.filter(other => other !== one.id))
                }
              />
              {one.template_name}
            </label>
            <a class="muted" href={paths.template(business, one.id)}>
              {one.active === null ? words.notActive : words.active(one.active)}
            </a>
          </li>
        ))}
      </ul>
    </fieldset>
  );
}

type Filter = ReturnType<typeof toViewFilter>;

/** Begins a job over what is selected and waits for its end. */
async function runJob(business: number, action: string, ids: number[], templates: number[]): Promise<JobPage> {
  const options = templates.length > 0 ? { config_template_ids: templates } : {};
  const { id } = await post<{ id: number }>('/jobs', { business, action, scope: { ids }, options });
  for (;;) {
    const page = await job(id, { wait: '10s', limit: 1000 });
    if (page.status === 'succeeded' || page.status === 'failed') return page;
  }
}

function Files({
  business,
  filter,
  templates,
  onNext,
}: {
  business: number;
  filter: Filter;
  templates: number[];
  onNext: () => void;
}) {
  const words = t();
  const [made, setMade] = useState<{ generated: JobPage; compared: JobPage; ids: number[]; more: number } | null>(null);
  const [doing, setDoing] = useState('');
  const [error, setError] = useState<Error | null>(null);
  const [only, setOnly] = useState(true);
  const may = mayOperate(business);

  const generate = async () => {
    setError(null);
    setMade(null);
    try {
      setDoing(words.generating);
      const page = await view(business, filter, { limit: MOST, order: 'id' });
      const ids = page.processes
        .filter(row => row.config_templates.some(one => templates.length === 0 || templates.includes(one.id)))
        .map(row => row.id);
      if (ids.length === 0) throw new Error(words.noneBound);
      const generated = await runJob(business, 'generate', ids, templates);
      setDoing(words.comparing);
      const compared = await runJob(business, 'diff', ids, templates);
      setMade({ generated, compared, ids, more: page.count - page.processes.length });
    } catch (failed) {
      setError(failed as Error);
    }
    setDoing('');
  };
  useEffect(() => {
    if (may) void generate();
  }, []);

  const files = useData(made ? `generated ${made.generated.id}` : null, signal =>
    loadFiles(business, made?.ids ?? [], templates, signal),
  );
  // What the hosts say of files that are not as they were released.
  const onHost = new Map(
    (made?.compared.tasks ?? [])
      .filter(task => task.status !== 'succeeded' || !/: as released\s*$/.test(task.output))
      .map(task => [
        fileKey(task as never as { process: number; local_inst_id: number }),
        (task.reason || task.output).trim(),
      ]),
  );
  const failed = (made?.generated.tasks ?? []).filter(task => task.status === 'failed');
  return (
    <div class="stack">
      {!may && <p class="note note-warn">{reasonWord('role')}</p>}
      {error && <ErrorBox title={words.notGenerated} error={error} retry={generate} />}
      {doing && (
        <div role="status">
          <p class="muted">{doing}</p>
          <Skeleton lines={4} />
        </div>
      )}
      {failed.length > 0 && made && (
        <div class="note note-bad">
          <p>
            <strong>{words.failed(count(failed.length))}</strong>{' '}
            <a href={paths.job(made.generated.id)}>{words.openJob}</a>
          </p>
          <ul>
            {failed.slice(0, 5).map(task => (
              <li key={task.ordinal}>
                {task.name} {task.host}: {task.reason}
              </li>
            ))}
          </ul>
        </div>
      )}
      {made && (
        <Loaded {...files}>
          {all => {
            const changed = all.filter(file => stateOfFile(file) !== 'same' || onHost.has(fileKey(file)));
            return (
              <>
                <div class="line">
                  <strong>{words.changed(count(changed.length), count(all.length))}</strong>
                  {made.more > 0 && <span class="muted">{words.moreProcesses(count(made.more))}</span>}
                  <label class="line">
                    <input type="checkbox" checked={only} onChange={event => setOnly(event.currentTarget.checked)} />
                    {words.onlyChanged}
                  </label>
                  <span class="grow" />
                  <Button size="small" icon="reload" onClick={generate}>
                    {words.again}
                  </Button>
                </div>
                {only && changed.length === 0 ? (
                  <p class="muted">{words.allSame}</p>
                ) : (
                  <FileList business={business} files={only ? changed : all} onHost={onHost} />
                )}
              </>
            );
          }}
        </Loaded>
      )}
      <div class="line">
        <Button kind="primary" blocked={made ? null : words.generating} onClick={onNext}>
          {words.next}
        </Button>
      </div>
    </div>
  );
}

function RollOut({
  business,
  filter,
  templates,
  number,
  back,
}: {
  business: number;
  filter: Filter;
  templates: number[];
  number: number;
  back: () => void;
}) {
  const words = t();
  const [after, setAfter] = useState<'' | 'restart' | 'reload'>('');
  const name = useId();
  const ask = () =>
    askOperation(after || 'reload', {
      kind: 'job',
      action: 'release',
      business,
      filter,
      except: [],
      count: number,
      options: {
        ...(templates.length > 0 ? { config_template_ids: templates } : {}),
        ...(after ? { after_release: after } : {}),
      },
    });
  return (
    <div class="stack">
      <fieldset class="card">
        <legend class="visually-hidden">{words.afterwards}</legend>
        <div class="card-head">
          <h2>{words.afterwards}</h2>
        </div>
        <div class="card-body stack-tight">
          {(['', 'reload', 'restart'] as const).map(one => (
            <label key={one} class="line">
              <input type="radio" name={name} checked={after === one} onChange={() => setAfter(one)} />
              {words.afterWords[one || 'nothing']}
            </label>
          ))}
        </div>
      </fieldset>
      <p class="muted">{words.rollText}</p>
      <div class="line">
        <Button onClick={back}>{words.back}</Button>
        <Button
          kind="primary"
          blocked={mayOperate(business) ? (number === 0 ? words.nothing : null) : reasonWord('role')}
          onClick={ask}
        >
          {words.release(count(number))}
        </Button>
      </div>
    </div>
  );
}
