/** The text in progress, and what it gives for one instance. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError } from '../../api/errors';
import { useData } from '../../api/use-data';
import {
  activate,
  preview,
  saveDraft,
  type Template,
  type Version,
  type ViewProcess,
  version,
  view,
} from '../../business/api';
import { mayOperate } from '../../business/blocked';
import { Button } from '../../components/button';
import { ErrorBox, errorText, Loaded } from '../../components/states';
import { toast } from '../../components/toast';
import type { EditorHandle } from '../../editor/codemirror';
import { Editor } from '../../editor/editor';
import { reasonWord } from '../../i18n/common';
import type { SetState } from '../../url/state';
import type { TemplateState } from './page';
import { t } from './strings';
import { Variables } from './variables';

interface EditTabProps {
  business: number;
  template: Template;
  versions: Version[] | null;
  state: TemplateState;
  set: SetState<TemplateState>;
  onSaved: () => void;
}

export function EditTab(props: EditTabProps) {
  const { business, template } = props;
  const begin = template.draft ?? template.active;
  const source = useData(begin === null ? null : `text ${business} ${template.id} ${begin}`, signal =>
    version(business, String(template.id), begin ?? 0, signal),
  );
  if (begin === null) return <Editing {...props} source="" description="" />;
  return (
    <Loaded {...source} lines={8}>
      {found => <Editing {...props} source={found.content ?? ''} description={found.description} />}
    </Loaded>
  );
}

/** Where the text is wrong: in the template itself, not in one that it includes. */
function placeOf(error: Error | null) {
  return error instanceof ApiError && error.line !== null ? { line: error.line, column: error.column } : null;
}

function Editing({
  business,
  template,
  source,
  description,
  state,
  set,
  onSaved,
}: EditTabProps & { source: string; description: string }) {
  const words = t();
  const [text, setText] = useState(source);
  const [note, setNote] = useState(description);
  const [saved, setSaved] = useState(source);
  const [busy, setBusy] = useState<'' | 'save' | 'activate'>('');
  const [error, setError] = useState<Error | null>(null);
  const dirty = text !== saved;

  // Another person's draft replaces the text only while nothing was written here.
  useEffect(() => {
    if (source === saved) return;
    if (text === saved) setText(source);
    setSaved(source);
  }, [source]);

  useEffect(() => {
    if (!dirty) return;
    const leave = (event: BeforeUnloadEvent) => event.preventDefault();
    addEventListener('beforeunload', leave);
    return () => removeEventListener('beforeunload', leave);
  }, [dirty]);

  const save = async (then: 'save' | 'activate') => {
    setBusy(then);
    setError(null);
    try {
      let draft = template.draft;
      if (dirty || draft === null) draft = (await saveDraft(business, template.id, note, text)).id;
      setSaved(text);
      if (then === 'activate') await activate(business, template.id, draft);
      toast(() => (then === 'activate' ? words.activated(draft ?? 0) : words.savedAs(draft ?? 0)), 'good');
      onSaved();
    } catch (failed) {
      setError(failed as Error);
    }
    setBusy('');
  };

  const editor = useRef<Pick<EditorHandle, 'insert' | 'goTo'> | null>(null);
  const shown = usePreview(business, template, text, state);
  const active = useActive(business, template, state.changes === 'on');
  const wrong = placeOf(error) ?? placeOf(shown.error);
  const may = mayOperate(business) ? null : reasonWord('role');
  return (
    <div class="template-edit">
      <section class="stack-tight">
        <div class="line template-bar">
          <h2 class="grow">
            {words.text} {dirty && <span class="chip tone-warn">{words.unsaved}</span>}
          </h2>
          <Button
            size="small"
            kind="quiet"
            pressed={state.changes === 'on'}
            blocked={template.active === null ? words.notActive : null}
            onClick={() => set({ changes: state.changes === 'on' ? 'off' : 'on' })}
          >
            {words.changes}
          </Button>
          <Button
            size="small"
            busy={busy === 'save'}
            blocked={may ?? (dirty ? null : words.nothingToSave)}
            onClick={() => save('save')}
          >
            {words.save}
          </Button>
          <Button
            size="small"
            kind="primary"
            busy={busy === 'activate'}
            blocked={may ?? (dirty || template.draft !== null ? null : words.alreadyActive)}
            onClick={() => save('activate')}
          >
            {words.saveAndActivate}
          </Button>
        </div>
        <Editor
          value={text}
          onInput={setText}
          label={words.text}
          errorAt={wrong}
          readOnly={may !== null}
          original={active}
          editorRef={editor}
        />
        <input
          class="input input-small"
          aria-label={words.description}
          placeholder={words.description}
          value={note}
          onInput={event => setNote(event.currentTarget.value)}
        />
        {error && <ErrorBox title={words.refused} error={error} />}
      </section>
      <section class="stack-tight">
        <div class="line template-bar">
          <h2 class="visually-hidden">{words.beside}</h2>
          <div class="line grow">
            {(['preview', 'variables'] as const).map(side => (
              <Button key={side} size="small" kind="quiet" pressed={state.side === side} onClick={() => set({ side })}>
                {words[side]}
              </Button>
            ))}
          </div>
          <InstancePicker candidates={shown.candidates} chosen={shown.chosen} inst={shown.inst} set={set} />
        </div>
        {shown.error && (
          <div class="note note-bad line" role="alert">
            <span class="grow">{errorText(shown.error)}</span>
            {wrong && (
              <Button size="small" onClick={() => editor.current?.goTo(wrong)}>
                {words.goTo(wrong.line)}
              </Button>
            )}
          </div>
        )}
        {state.side === 'variables' && shown.chosen !== null ? (
          <Variables
            business={business}
            process={shown.chosen.id}
            inst={shown.inst}
            blocked={may}
            onInsert={name => editor.current?.insert(`\${${name}}`)}
          />
        ) : shown.error ? null : shown.chosen === null ? (
          <p class="muted">{words.noInstance}</p>
        ) : (
          <pre class="code-text template-preview" role="region" tabIndex={0} aria-label={words.preview}>
            {shown.content}
          </pre>
        )}
      </section>
    </div>
  );
}

/** The text of the active version, to compare with; null while it is not wanted or not there yet. */
function useActive(business: number, template: Template, wanted: boolean): string | null {
  const number = wanted ? template.active : null;
  const answer = useData(number === null ? null : `text ${business} ${template.id} ${number}`, signal =>
    version(business, String(template.id), number ?? 0, signal),
  );
  return number === null ? null : (answer.data?.content ?? null);
}

/** Renders while one writes. */
function usePreview(business: number, template: Template, text: string, state: TemplateState) {
  const bound = template.bindings.processes.slice(0, 200).map(String);
  const rows = useData(`candidates ${business} ${bound.join()}`, signal =>
    view(business, bound.length > 0 ? { id: bound } : {}, { limit: 200 }, signal),
  );
  const candidates = rows.data?.processes ?? [];
  const chosen = candidates.find(one => String(one.id) === state.process) ?? candidates[0] ?? null;
  const inst = Number(state.inst) || 1;
  const [content, setContent] = useState('');
  const [error, setError] = useState<Error | null>(null);
  useEffect(() => {
    if (!chosen) return;
    let current = true;
    const timer = setTimeout(() => {
      preview(business, text, chosen.id, inst).then(
        answer => {
          if (!current) return;
          setContent(answer.content);
          setError(null);
        },
        failed => current && setError(failed),
      );
    }, 300);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [text, chosen?.id, inst]);
  return { candidates, chosen, inst, content, error };
}

function InstancePicker({
  candidates,
  chosen,
  inst,
  set,
}: {
  candidates: ViewProcess[];
  chosen: ViewProcess | null;
  inst: number;
  set: SetState<TemplateState>;
}) {
  const words = t();
  if (!chosen) return null;
  return (
    <>
      <select
        class="input input-small template-select"
        aria-label={words.process}
        value={String(chosen.id)}
        onChange={event => set({ process: event.currentTarget.value, inst: '' })}
      >
        {candidates.map(one => (
          <option key={one.id} value={String(one.id)}>
            {one.set.name} · {one.module.name} · {one.name} · {one.host.replace(/^0:/, '')}
          </option>
        ))}
      </select>
      <select
        class="input input-small template-inst"
        aria-label={words.instance}
        value={String(inst)}
        onChange={event => set({ inst: event.currentTarget.value })}
      >
        {chosen.instances.map(one => (
          <option key={one.local_inst_id} value={String(one.local_inst_id)}>
            {words.instanceOf(one.local_inst_id)}
          </option>
        ))}
      </select>
    </>
  );
}
