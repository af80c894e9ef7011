/** An expression with what each part means and leaves, and a caret under what is wrong. */
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { ApiError, isAbort } from '../../api/errors';
import { type Explained, explain, type TreeSet } from '../../business/api';
import { NO_PARTS, toExpression, type ViewState } from '../../business/filter';
import { t as shared } from '../../business/strings';
import { Button } from '../../components/button';
import { ErrorBox } from '../../components/states';
import { count } from '../../i18n/format';
import { meaningText, sentence } from '../../i18n/reasons';
import type { SetState } from '../../url/state';
import { t } from './strings';

interface ExpressionFieldProps {
  business: number;
  state: ViewState;
  set: SetState<ViewState>;
  tree: TreeSet[];
}

const PARTS: Record<string, keyof ReturnType<typeof shared>['dims']> = {
  set: 'set',
  module: 'module',
  service: 'service',
  process: 'name',
  id: 'id',
};

export function ExpressionField({ business, state, set, tree }: ExpressionFieldProps) {
  const [text, setText] = useState(() => state.expr || startFrom(state, tree));
  const [explained, setExplained] = useState<Explained | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const field = useRef<HTMLInputElement>(null);
  const id = useId();
  const words = t();

  useEffect(() => {
    if (state.expr !== '') setText(state.expr);
  }, [state.expr]);
  useEffect(() => {
    if (state.expr === '') field.current?.focus();
  }, []);
  useEffect(() => {
    let current = true;
    const timer = setTimeout(() => {
      explain(business, state.env || null, text.trim() || '*').then(
        found => {
          if (!current) return;
          setExplained(found);
          setError(null);
        },
        failed => current && !isAbort(failed) && setError(failed),
      );
    }, 200);
    return () => {
      current = false;
      clearTimeout(timer);
    };
  }, [text, state.env, business]);

  const wrong = error instanceof ApiError && error.character !== null ? error : null;
  const same = text.trim() === state.expr;
  const apply = () => {
    if (!wrong && text.trim() !== '') set({ ...NO_PARTS, expr: text.trim() }, 'push');
  };

  return (
    <form
      class="expression"
      onSubmit={event => {
        event.preventDefault();
        apply();
      }}
    >
      <div class="expression-line">
        <label for={id} class="visually-hidden">
          {words.expressionLabel}
        </label>
        <input
          id={id}
          ref={field}
          class="input expression-input"
          value={text}
          spellcheck={false}
          autocomplete="off"
          placeholder="set.module.service.process.id"
          aria-invalid={wrong ? true : undefined}
          aria-describedby={`${id}-says`}
          onInput={event => setText(event.currentTarget.value)}
        />
        <Button
          type="submit"
          kind={same ? 'plain' : 'primary'}
          blocked={wrong ? words.badExpression : text.trim() === '' ? words.emptyExpression : null}
        >
          {explained && !error ? words.show(count(explained.count)) : words.showAny}
        </Button>
      </div>
      <div id={`${id}-says`} aria-live="polite">
        {wrong && (
          <div class="expression-error">
            <pre aria-hidden="true">
              {text}
              {'\n'}
              {spaces(text, wrong.character ?? 1)}
              <span class="tone-bad">^</span>
            </pre>
            <p class="tone-bad">{sentence(wrong.reason, wrong.message)}</p>
          </div>
        )}
        {error && !wrong && <ErrorBox error={error} />}
        {explained && !error && (
          <ol class="expression-parts">
            {explained.parts.map(one => (
              <li key={one.part}>
                <span class="muted">{shared().dims[PARTS[one.part] ?? 'q']}</span>
                <code class="ellipsis" title={meaningText(one.meaning, one.words)}>
                  {one.text}
                </code>
                <span class="expression-count" title={words.left}>
                  {count(one.count)}
                </span>
              </li>
            ))}
          </ol>
        )}
      </div>
    </form>
  );
}

/** As wide as the text before the character; Chinese characters are two columns wide. */
function spaces(text: string, character: number): string {
  return [...text]
    .slice(0, character - 1)
    .map(one => ((one.codePointAt(0) ?? 0) > 0x2e7f ? '　' : ' '))
    .join('');
}

/** What the filter selects, as an expression. */
function startFrom(state: ViewState, tree: TreeSet[]): string {
  const modules = tree.flatMap(set => set.modules.map(module => ({ ...module, set: set.name })));
  const chosen = modules.filter(module => state.module.includes(String(module.id)));
  const sets = tree.filter(one => state.set.includes(String(one.id))).map(one => one.name);
  const parts = {
    set: sets.length > 0 ? sets : [...new Set(chosen.map(one => one.set))],
    module: [...new Set(chosen.map(one => one.name))],
    service: [],
    name: state.name,
    id: state.id,
  };
  return Object.values(parts).some(names => names.length > 0) ? toExpression(parts) : '';
}
