/** Release config files in steps: which processes and templates, what would change, roll out. */
import { useEffect, useId, useMemo, useState } from 'preact/hooks';
import { post } from '../../api/client';
import { useData } from '../../api/use-data';
import { type JobPage, job, templates as loadTemplates, type Template, viewFacets } from '../../business/api';
import { mayOperate } from '../../business/blocked';
import { FileTable } from '../../business/files';
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

interface Progress {
  action: 'generate' | 'diff';
  ended: number;
  all: number;
}

interface Made {
  generated: JobPage;
  compared: JobPage;
  /** The first of what could not be generated. */
  failed: JobPage;
  /** Instances whose files on the host are not as they were released. */
  differing: number;
}

/** Begins a job over what is selected and waits for its end. */
async function runJob(
  business: number,
  action: Progress['action'],
  filter: Filter,
  templates: number[],
  onProgress: (progress: Progress) => void,
): Promise<JobPage> {
  const options = templates.length > 0 ? { config_template_ids: templates } : {};
  const { id } = await post<{ id: number }>('/jobs', { business, action, filter, options });
  let ended = 0;
  for (;;) {
    const page = await job(id, { wait: '10s', ended, limit: 1 });
    const { pending = 0, running = 0 } = page.counts;
    const all = Object.values(page.counts).reduce((sum, n) => sum + n, 0);
    ended = all - pending - running;
    onProgress({ action, ended, all });
    if (page.status === 'succeeded' || page.status === 'failed') return page;
  }
}

async function makeFiles(
  business: number,
  filter: Filter,
  templates: number[],
  onProgress: (progress: Progress) => void,
): Promise<Made> {
  const generated = await runJob(business, 'generate', filter, templates, onProgress);
  const compared = await runJob(business, 'diff', filter, templates, onProgress);
  const [failed, differing] = await Promise.all([
    job(generated.id, { status: 'failed', limit: 5 }),
    job(compared.id, { q: 'differs', limit: 1 }),
  ]);
  return { generated, compared, failed, differing: differing.count };
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
  const [made, setMade] = useState<Made | null>(null);
  const [doing, setDoing] = useState<Progress | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const may = mayOperate(business);

  const generate = async () => {
    setError(null);
    setMade(null);
    setDoing({ action: 'generate', ended: 0, all: 0 });
    try {
      setMade(await makeFiles(business, filter, templates, setDoing));
    } catch (failed) {
      setError(failed as Error);
    }
    setDoing(null);
  };
  useEffect(() => {
    if (may) void generate();
  }, []);

  return (
    <div class="stack">
      {!may && <p class="note note-warn">{reasonWord('role')}</p>}
      {error && <ErrorBox title={words.notGenerated} error={error} retry={generate} />}
      {doing && (
        <div role="status">
          <p class="muted">
            {doing.action === 'generate' ? words.generating : words.comparing}
            {doing.all > 0 && ` ${count(doing.ended)} / ${count(doing.all)}`}
          </p>
          <Skeleton lines={4} />
        </div>
      )}
      {made && made.failed.count > 0 && (
        <div class="note note-bad">
          <p>
            <strong>{words.failed(count(made.failed.count))}</strong>{' '}
            <a href={paths.job(made.generated.id)}>{words.openJob}</a>
          </p>
          <ul>
            {made.failed.tasks.map(task => (
              <li key={task.ordinal}>
                {task.name} {task.host}: {task.reason}
              </li>
            ))}
          </ul>
        </div>
      )}
      {made && made.differing > 0 && (
        <div class="note note-warn line">
          <span class="grow">{words.differing(made.differing, count(made.differing))}</span>
          <a href={`${paths.job(made.compared.id)}?q=differs`}>{words.showDiffering}</a>
        </div>
      )}
      {made && <FileTable business={business} filter={filter} templates={templates} turn={made.generated.id} />}
      <div class="line">
        <Button kind="primary" blocked={made ? null : words.generating} onClick={onNext}>
          {words.next}
        </Button>
        <Button icon="reload" blocked={doing ? words.generating : null} onClick={generate}>
          {words.again}
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
