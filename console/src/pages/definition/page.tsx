/** Changes the definition of a process: as a form or as JSON, checked by the server while one writes, applied in batches or at once. */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { lazy, useRoute } from 'preact-iso';
import { versions as loadVersions } from '../../api/calls';
import { ApiError } from '../../api/errors';
import { may } from '../../api/session';
import type { ProcessVersion } from '../../api/types';
import { useData } from '../../api/use-data';
import { Button } from '../../components/button';
import { Icon } from '../../components/icon';
import { Menu } from '../../components/menu';
import { Empty, ErrorBox, errorText, Loaded } from '../../components/states';
import { planUpdate } from '../../definition/api';
import { ChangeList } from '../../definition/change-list';
import { changesOf, type Definition } from '../../definition/changes';
import { jsonText, placeOf, readText, type TextError } from '../../definition/draft';
import { type UnknownKey, unknownKey } from '../../definition/known';
import type { EditorHandle } from '../../editor/codemirror';
import { Editor } from '../../editor/editor';
import { reasonWord } from '../../i18n/common';
import { useLive } from '../../live/live';
import { useTitle } from '../../shell/title';
import { choice, codec, text } from '../../url/codec';
import { paths } from '../../url/paths';
import { useUrlState } from '../../url/state';
import './definition.css';
import { Form, type Wrong } from './form';
import { isThere, SNIPPETS, type Snippet, withSnippet } from './snippets';
import { t } from './strings';

const UpdateDialog = lazy(() => import('../../definition/update-dialog'));

const VIEWS = ['form', 'json'] as const;
const pageState = codec<{ view: (typeof VIEWS)[number]; from: string }>({
  view: choice(VIEWS, 'form'),
  /** The number of the version to begin with; the one that most hosts have without it. */
  from: text(),
});

/** How long after the last key the server is asked, in ms. */
const CHECK_AFTER = 400;

export default function DefinitionPage() {
  const { params } = useRoute();
  const process = `${params.namespace ?? ''}/${params.name ?? ''}`;
  const [{ view, from }, set] = useUrlState(pageState);
  const answer = useData(`versions ${process}`, signal => loadVersions(process, signal));
  const words = t();
  useTitle(words.title(process));
  useLive({ kinds: ['registration'], prefix: `${process}@` }, answer.reload);
  return (
    <div class="page">
      <nav class="crumbs" aria-label={words.processes}>
        <a href={paths.processes()}>{words.processes}</a>
        <Icon name="right" size={12} />
        <a href={paths.processes({ ns: params.namespace })}>{params.namespace}</a>
        <Icon name="right" size={12} />
        <a href={paths.process(process, { tab: 'spec' })}>{params.name}</a>
      </nav>
      <Loaded {...answer} lines={10}>
        {({ versions }) => {
          const base = beginWith(versions, from);
          if (!base)
            return (
              <Empty whole icon="processes" title={words.none}>
                {words.noneText}
              </Empty>
            );
          return (
            <Editing
              key={`${process} ${from}`}
              process={process}
              base={base}
              newest={versions[0]?.number ?? base.number}
              differ={versions.filter(one => one.hosts > 0).length > 1}
              view={view}
              onView={next => set({ view: next })}
            />
          );
        }}
      </Loaded>
    </div>
  );
}

function beginWith(versions: ProcessVersion[], from: string): ProcessVersion | undefined {
  if (from) return versions.find(one => String(one.number) === from);
  return [...versions].sort((a, b) => b.hosts - a.hosts || b.number - a.number)[0];
}

const definitionOf = (version: ProcessVersion): Definition => ({
  spec: version.spec as Record<string, unknown>,
  labels: version.labels,
});

interface EditingProps {
  process: string;
  base: ProcessVersion;
  newest: number;
  differ: boolean;
  view: (typeof VIEWS)[number];
  onView: (view: (typeof VIEWS)[number]) => void;
}

function Editing({ process, base: current, newest, differ, view, onView }: EditingProps) {
  const words = t();
  // What was begun with stays, also when another version comes meanwhile.
  const [base] = useState(current);
  const [newestThen] = useState(newest);
  const begun = useMemo(() => definitionOf(base), [base]);
  const [draft, setDraft] = useState(begun);
  /** What is in the editor; it may be no JSON yet. */
  const [json, setJson] = useState(() => jsonText(begun));
  const [textError, setTextError] = useState<TextError | null>(null);
  const [asking, setAsking] = useState(false);
  const editor = useRef<Pick<EditorHandle, 'insert' | 'goTo'> | null>(null);
  const changes = useMemo(() => changesOf(begun, draft), [begun, draft]);
  const dirty = changes.length > 0;
  const unknown = useMemo(() => unknownKey(draft.spec), [draft]);
  const checked = useCheck(process, draft, dirty && textError === null && unknown === null);
  const { checking } = checked;
  const wrong = unknown ? unknownOf(unknown) : wrongOf(checked.error);
  const error = unknown ? new Error(wrong?.message) : checked.error;

  useEffect(() => {
    if (!dirty && textError === null) return;
    const leave = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener('beforeunload', leave);
    return () => removeEventListener('beforeunload', leave);
  }, [dirty, textError === null]);

  const change = (next: Definition) => {
    setDraft(next);
    setJson(jsonText(next));
    setTextError(null);
  };
  const write = (typed: string) => {
    if (typed === json) return;
    setJson(typed);
    const read = readText(typed);
    if ('error' in read) setTextError(read.error);
    else {
      setTextError(null);
      setDraft(read.definition);
    }
  };
  const place = textError ?? (wrong ? placeOf(json, wrong.path) : null);
  const [namespace = ''] = process.split('/');
  const role = may('operator', { namespace }) ? null : reasonWord('role');
  return (
    <>
      <div class="page-head">
        <h1>{words.title(process)}</h1>
        <span class="muted">{words.base(base.number)}</span>
        <span class="grow" />
        <span class="line" role="group" aria-label={words.view}>
          {VIEWS.map(one => (
            <Button
              key={one}
              size="small"
              pressed={view === one}
              blocked={one === 'form' && textError ? words.notJson : null}
              onClick={() => onView(one)}
            >
              {words[one]}
            </Button>
          ))}
        </span>
        <Menu
          size="small"
          side="right"
          icon="plus"
          items={(Object.keys(SNIPPETS) as Snippet[]).map(snippet => ({
            label: words.snippets[snippet],
            blocked: textError ? words.notJson : isThere(draft, snippet) ? words.isThere : null,
            onSelect: () => change(withSnippet(draft, snippet)),
          }))}
        >
          {words.add}
        </Menu>
      </div>
      {newest > newestThen && <p class="note note-warn">{words.newer(newest)}</p>}
      <div class="definition-columns">
        {view === 'form' ? (
          <Form draft={draft} wrong={wrong && { field: wrong.field, message: wrong.message }} onChange={change} />
        ) : (
          <Editor value={json} onInput={write} label={words.json} errorAt={place} editorRef={editor} />
        )}
        <aside class="definition-side stack" aria-label={words.changes}>
          <section class="card">
            <div class="card-head">
              <h2 class="grow">{words.changes}</h2>
              {(dirty || textError) && (
                <Button size="small" kind="quiet" onClick={() => change(begun)}>
                  {words.reset}
                </Button>
              )}
            </div>
            <div class="card-body stack">
              {textError ? (
                <div class="note note-bad" role="alert">
                  <strong>{words.notJson}</strong>
                  <p>{textError.message}</p>
                </div>
              ) : !dirty ? (
                <p class="muted">{words.noChange}</p>
              ) : (
                <ChangeList changes={changes} />
              )}
              {dirty && !textError && error && !wrong && <ErrorBox title={words.wrong} error={error} />}
              {dirty && !textError && wrong && (
                <div class="note note-bad definition-wrong" role="alert">
                  <strong>{unknown ? words.notKnown : words.wrong}</strong>
                  <p>
                    <code>{wrong.field}</code>: {wrong.message}
                  </p>
                </div>
              )}
              {view === 'json' && place && (
                <div class="line">
                  <Button size="small" onClick={() => editor.current?.goTo(place)}>
                    {words.goTo(place.line)}
                  </Button>
                </div>
              )}
              {dirty && !textError && !error && (
                <p class={`line ${checking ? 'muted' : 'tone-good'}`} role="status">
                  <Icon name={checking ? 'spinner' : 'check'} size={14} /> {checking ? words.checking : words.fine}
                </p>
              )}
              <Button
                kind="primary"
                blocked={
                  role ??
                  (textError || error ? words.mustFix : !dirty ? words.noChange : checking ? words.checking : null)
                }
                onClick={() => setAsking(true)}
              >
                {words.apply}
              </Button>
            </div>
          </section>
        </aside>
      </div>
      {asking && (
        <UpdateDialog
          update={{ process, ...draft }}
          changes={changes}
          differ={differ}
          onClose={() => setAsking(false)}
        />
      )}
    </>
  );
}

/** What the server says about the draft, a moment after it was changed. */
function useCheck(process: string, draft: Definition, wanted: boolean) {
  const [state, setState] = useState<{ of: Definition | null; error: Error | null }>({ of: null, error: null });
  useEffect(() => {
    if (!wanted) return;
    let current = true;
    const timer = setTimeout(() => {
      planUpdate({ process, ...draft }).then(
        () => current && setState({ of: draft, error: null }),
        (error: Error) => current && setState({ of: draft, error }),
      );
    }, CHECK_AFTER);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [process, draft, wanted]);
  // The last answer stays while the next is awaited, so that an error does not flicker.
  return { error: wanted ? state.error : null, checking: wanted && state.of !== draft };
}

const unknownOf = ({ field, known }: UnknownKey) => ({
  field,
  path: `spec.${field}`,
  message: t().unknownKey(known.join(', ')),
});

/** The field that a refusal names: as the form has it, and as its path in the JSON text. */
function wrongOf(error: Error | null): (Wrong & { path: string }) | null {
  if (!(error instanceof ApiError) || error.field === null) return null;
  const path = error.field.replace(/^update\./, '');
  const field = path.replace(/^spec\./, '');
  const said = errorText(error);
  const message = said.startsWith(`${error.field}: `) ? said.slice(error.field.length + 2) : said;
  return { field, path, message };
}
