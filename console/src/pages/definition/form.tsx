/** The definition as a form. A field shows what the server says about it. */
import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';
import { Button } from '../../components/button';
import type { Definition } from '../../definition/changes';
import { labelsOf, labelsText, numberOf, textOf, valueAt, withValue, wordsOf } from '../../definition/draft';
import {
  COMMANDS,
  DEPENDENCY,
  type FieldShape,
  IDENTITY,
  POLICY,
  PROBE_TARGET,
  PROBE_TARGETS,
  type ProbeTarget,
  probeFigures,
  RESTART,
  SCHEDULE,
  type SectionShape,
  STOP,
} from './fields';
import { t } from './strings';

/** What is wrong, and with which field: as a path of the spec, or `labels`. */
export interface Wrong {
  field: string;
  message: string;
}

interface FormProps {
  draft: Definition;
  wrong: Wrong | null;
  onChange: (draft: Definition) => void;
}

export function Form({ draft, wrong, onChange }: FormProps) {
  const words = t();
  const { spec, labels } = draft;
  const set = (path: string, value: unknown) => onChange({ ...draft, spec: withValue(spec, path, value) });
  const shared = { spec, wrong, set };
  const isPeriodic = String(valueAt(spec, 'monitor_policy.auto_type') ?? 1) === '0';
  return (
    <div class="definition-form">
      <nav class="definition-jump" aria-label={words.jump}>
        {(Object.keys(words.sections) as (keyof typeof words.sections)[]).map(name => (
          <Button key={name} size="small" kind="quiet" onClick={() => jumpTo(name)}>
            {words.sections[name]}
          </Button>
        ))}
      </nav>
      <Section name="control" wrong={wrong}>
        <Fields {...shared} section={COMMANDS} />
      </Section>
      <Section name="identity" wrong={wrong}>
        <Fields {...shared} section={IDENTITY} />
      </Section>
      <Section name="labels" wrong={wrong}>
        <LabelsField labels={labels} wrong={wrong} onChange={next => onChange({ ...draft, labels: next })} />
      </Section>
      <Section name="monitor_policy" wrong={wrong}>
        <Fields {...shared} section={POLICY} />
      </Section>
      <Section name="probes" wrong={wrong}>
        <Probe {...shared} kind="ready" />
        <Probe {...shared} kind="live" />
      </Section>
      <Section name="after" wrong={wrong}>
        <After {...shared} />
      </Section>
      <Section name="restart" wrong={wrong}>
        <Fields {...shared} section={RESTART} />
      </Section>
      <Section name="stop" wrong={wrong}>
        <Fields {...shared} section={STOP} />
      </Section>
      <Section name="schedule" wrong={wrong}>
        {!isPeriodic && <p class="muted">{words.onlyPeriodic}</p>}
        <Fields {...shared} section={SCHEDULE} />
      </Section>
      <p class="muted">{words.rest}</p>
    </div>
  );
}

/** Scrolls the page, and nothing around it. */
function jumpTo(name: string) {
  const section = document.getElementById(`section-${name}`);
  const content = document.getElementById('content');
  if (!section || !content) return;
  content.scrollTop += section.getBoundingClientRect().top - content.getBoundingClientRect().top - 8;
  section.querySelector<HTMLElement>('input, select, textarea, button')?.focus({ preventScroll: true });
}

/** An error of the section itself, which none of its fields shows. */
function sectionError(name: string, wrong: Wrong | null): string | null {
  return wrong?.field === name ? wrong.message : null;
}

function Section({
  name,
  wrong,
  children,
}: {
  name: keyof ReturnType<typeof t>['sections'];
  wrong: Wrong | null;
  children: ComponentChildren;
}) {
  const error = name === 'labels' ? null : sectionError(name, wrong);
  return (
    <fieldset class="card definition-section" id={`section-${name}`}>
      <legend class="visually-hidden">{t().sections[name]}</legend>
      <div class="card-head">
        <h2>{t().sections[name]}</h2>
        <code class="muted">{name}</code>
      </div>
      <div class="card-body stack-tight">
        <p class="muted definition-about">{t().about[name]}</p>
        {error && (
          <p class="note note-bad" role="alert">
            {error}
          </p>
        )}
        {children}
      </div>
    </fieldset>
  );
}

interface SpecProps {
  spec: Record<string, unknown>;
  wrong: Wrong | null;
  set: (path: string, value: unknown) => void;
}

function Fields({ section, ...rest }: SpecProps & { section: SectionShape }) {
  return (
    <div class="definition-fields">
      {section.fields.map(shape => (
        <SpecField key={shape.key} {...rest} base={section.path} shape={shape} />
      ))}
    </div>
  );
}

interface SpecFieldProps extends SpecProps {
  base: string;
  shape: FieldShape;
}

/** The text of a field while it is written; the value it has after that. */
function SpecField({ spec, wrong, set, base, shape }: SpecFieldProps) {
  const id = useId();
  const path = `${base}.${shape.key}`;
  const value = valueAt(spec, path);
  const [typed, setTyped] = useState<string | null>(null);
  const words = t();
  const key = shape.key.split('.').at(-1) ?? shape.key;
  const label = words.fields[(path in words.fields ? path : key) as keyof typeof words.fields] ?? key;
  const hint =
    (words.hints as Record<string, string>)[`${base}.${key}`] ?? (words.hints as Record<string, string>)[key];
  // `stop.signals[0]` is shown at `stop.signals`.
  const isWrong = wrong !== null && (wrong.field === path || wrong.field.startsWith(`${path}[`));
  const note = isWrong ? wrong.message : hint;
  const described = note ? `${id}-note` : undefined;
  const write = (text: string) => {
    setTyped(text);
    if (text === '') set(path, shape.stays ? '' : undefined);
    else if (shape.kind === 'number') set(path, numberOf(text));
    else if (shape.kind === 'words') set(path, wordsOf(text));
    else set(path, text);
  };
  return (
    <div class={`field ${isWrong ? 'field-wrong' : ''} ${shape.kind === 'command' ? 'definition-wide' : ''}`}>
      <label for={id}>
        {label} <code class="definition-key">{shape.key}</code>
      </label>
      {shape.kind === 'choice' ? (
        <select
          id={id}
          class="input input-small"
          value={textOf(value)}
          aria-describedby={described}
          aria-invalid={isWrong}
          onChange={event => set(path, numberOf(event.currentTarget.value))}
        >
          {shape.choices?.map(choice => (
            <option key={choice} value={choice}>
              {choice === '' ? words.fallback(choiceWord(key, shape.fallback ?? '')) : choiceWord(key, choice)}
            </option>
          ))}
          {value !== undefined && !shape.choices?.includes(textOf(value)) && (
            <option value={textOf(value)}>{textOf(value)}</option>
          )}
        </select>
      ) : (
        <input
          id={id}
          class={`input input-small ${shape.kind === 'text' || shape.kind === 'command' ? 'mono' : ''}`}
          autocomplete="off"
          spellcheck={false}
          inputMode={shape.kind === 'number' && key !== 'give_up' ? 'numeric' : undefined}
          placeholder={shape.fallback}
          value={typed ?? textOf(value)}
          aria-describedby={described}
          aria-invalid={isWrong}
          onInput={event => write(event.currentTarget.value)}
          onBlur={() => setTyped(null)}
        />
      )}
      {note && (
        <span class="field-note" id={described} role={isWrong ? 'alert' : undefined}>
          {note}
        </span>
      )}
    </div>
  );
}

function choiceWord(key: string, choice: string): string {
  const words = t().choices as Record<string, Record<string, string>>;
  return words[key]?.[choice] ?? choice;
}

function Probe({ kind, ...rest }: SpecProps & { kind: 'ready' | 'live' }) {
  const words = t();
  const id = useId();
  const base = `probes.${kind}`;
  const rule = valueAt(rest.spec, base) as Record<string, unknown> | undefined;
  const target: ProbeTarget | 'none' = rule === undefined ? 'none' : (PROBE_TARGETS.find(one => one in rule) ?? 'none');
  const choose = (next: ProbeTarget | 'none') => {
    const { exec, tcp, http, ...figures } = rule ?? {};
    // The port stays with the probe.
    const port = (tcp as { port?: number } | undefined)?.port ?? (http as { port?: number } | undefined)?.port ?? '';
    const begin = { exec: '', tcp: { port }, http: { port, path: '/healthz' } };
    rest.set(base, next === 'none' ? undefined : { [next]: begin[next], ...figures });
  };
  const error = sectionError(base, rest.wrong);
  return (
    <div class="definition-probe stack-tight" role="group" aria-label={words.probes[kind]}>
      <div class="line">
        <h3 id={`${id}-title`}>{words.probes[kind]}</h3>
        <select
          class="input input-small select"
          aria-labelledby={`${id}-title`}
          value={target}
          onChange={event => choose(event.currentTarget.value as ProbeTarget | 'none')}
        >
          {(['none', ...PROBE_TARGETS] as const).map(one => (
            <option key={one} value={one}>
              {words.targets[one]}
            </option>
          ))}
        </select>
      </div>
      <p class="muted definition-about">{words.aboutProbe[kind]}</p>
      {error && (
        <p class="note note-bad" role="alert">
          {error}
        </p>
      )}
      {target !== 'none' && (
        <div class="definition-fields">
          {[...PROBE_TARGET[target], ...probeFigures(kind)].map(shape => (
            <SpecField key={shape.key} {...rest} base={base} shape={shape} />
          ))}
        </div>
      )}
    </div>
  );
}

function After(rest: SpecProps) {
  const words = t();
  const dependencies = (valueAt(rest.spec, 'after') as Record<string, unknown>[] | undefined) ?? [];
  return (
    <>
      {dependencies.map((dependency, index) => {
        const base = `after[${index}]`;
        const error = sectionError(base, rest.wrong);
        return (
          <div key={index} class="definition-probe" role="group" aria-label={words.dependency(index + 1)}>
            {error && (
              <p class="note note-bad" role="alert">
                {error}
              </p>
            )}
            <div class="definition-fields">
              {DEPENDENCY.map(shape => (
                <SpecField key={shape.key} {...rest} base={base} shape={shape} />
              ))}
            </div>
            <div class="line">
              <label class="line grow">
                <input
                  type="checkbox"
                  checked={dependency.restart === true}
                  onChange={event => rest.set(`${base}.restart`, event.currentTarget.checked || undefined)}
                />
                {words.fields['after.restart']}
              </label>
              <Button size="small" kind="quiet" onClick={() => rest.set(base, undefined)}>
                {words.removeDependency}
              </Button>
            </div>
          </div>
        );
      })}
      <div class="line">
        <Button size="small" icon="plus" onClick={() => rest.set('after', [...dependencies, { process: '' }])}>
          {words.addDependency}
        </Button>
      </div>
    </>
  );
}

function LabelsField({
  labels,
  wrong,
  onChange,
}: {
  labels: Record<string, string>;
  wrong: Wrong | null;
  onChange: (labels: Record<string, string>) => void;
}) {
  const id = useId();
  const [typed, setTyped] = useState<string | null>(null);
  const isWrong = wrong?.field.startsWith('labels') ?? false;
  const text = typed ?? labelsText(labels);
  return (
    <div class={`field ${isWrong ? 'field-wrong' : ''}`}>
      <label for={id}>{t().fields.labels}</label>
      <textarea
        id={id}
        class="input mono definition-labels"
        rows={Math.min(8, Math.max(2, text.split('\n').length))}
        spellcheck={false}
        placeholder="tier=front"
        aria-invalid={isWrong}
        value={text}
        onInput={event => {
          setTyped(event.currentTarget.value);
          onChange(labelsOf(event.currentTarget.value));
        }}
        onBlur={() => setTyped(null)}
      />
      {isWrong && (
        <span class="field-note" role="alert">
          {wrong?.message}
        </span>
      )}
    </div>
  );
}
