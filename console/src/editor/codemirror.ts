/**
 * The editor and the comparison of two texts, both CodeMirror. A chunk of its own: `load.ts` loads it when a page shows one.
 *
 * They live in a shadow root, because CodeMirror adopts a style sheet there; elsewhere it adds a style element, which the
 * content security policy refuses.
 */
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { bracketMatching, StreamLanguage } from '@codemirror/language';
import { getChunks, MergeView, unifiedMergeView } from '@codemirror/merge';
import { openSearchPanel, search, searchKeymap } from '@codemirror/search';
import { Compartment, EditorState, type Extension, RangeSetBuilder, StateEffect, StateField } from '@codemirror/state';
import {
  Decoration,
  type DecorationSet,
  EditorView,
  GutterMarker,
  gutterLineClass,
  highlightSpecialChars,
  keymap,
  lineNumbers,
  showPanel,
} from '@codemirror/view';
import { language } from '../i18n/i18n';
import { templateParser } from './language';
import { PHRASES_EN, PHRASES_ZH, t } from './strings';
import { look } from './theme';

/** A place in the text, from 1. */
export interface Place {
  line: number;
  column?: number | null;
}

export interface EditorHandle {
  /** Replaces the text, unless it is this one already. */
  setText(text: string): void;
  setError(place: Place | null): void;
  setReadOnly(readOnly: boolean): void;
  /** Shows the differences from this text; null shows the text alone. */
  setOriginal(original: string | null): void;
  /** In place of the selection. */
  insert(text: string): void;
  goTo(place: Place): void;
  destroy(): void;
}

export interface DiffHandle {
  added: number;
  removed: number;
  destroy(): void;
}

const template = StreamLanguage.define(templateParser);

const NO_ATTRIBUTES: Record<string, string> = {};

const setError = StateEffect.define<Place | null>();

const errorNumber = new (class extends GutterMarker {
  override elementClass = 'cm-errorNumber';
})();

/** Where the error is; it moves with the text until the next answer. */
const errorField = StateField.define<{ lines: DecorationSet; place: number | null }>({
  create: () => ({ lines: Decoration.none, place: null }),
  update(value, change) {
    let { lines, place } = value;
    if (change.docChanged) {
      lines = lines.map(change.changes);
      place = place === null ? null : change.changes.mapPos(place);
    }
    for (const effect of change.effects) {
      if (!effect.is(setError)) continue;
      const wanted = effect.value;
      if (wanted === null || wanted.line < 1 || wanted.line > change.state.doc.lines) {
        lines = Decoration.none;
        place = null;
        continue;
      }
      const line = change.state.doc.line(wanted.line);
      place = line.from;
      const column = wanted.column ? Math.min(line.from + wanted.column - 1, line.to) : line.to;
      const marks = [Decoration.line({ class: 'cm-errorLine' }).range(line.from)];
      if (column < line.to) marks.push(Decoration.mark({ class: 'cm-errorPlace' }).range(column, column + 1));
      lines = Decoration.set(marks, true);
    }
    return { lines, place };
  },
  provide: field => [
    EditorView.decorations.from(field, value => value.lines),
    EditorView.contentAttributes.from(field, value =>
      value.place === null ? NO_ATTRIBUTES : { 'aria-invalid': 'true' },
    ),
    gutterLineClass.compute([field], state => {
      const { place } = state.field(field);
      const marks = new RangeSetBuilder<GutterMarker>();
      if (place !== null) {
        const { from } = state.doc.lineAt(place);
        marks.add(from, from, errorNumber);
      }
      return marks.finish();
    }),
  ],
});

/** Tab indents; after Escape it leaves the editor, until another key is pressed. */
function leaveWithEscape(): Extension {
  let leaving = false;
  const set = (view: EditorView, on: boolean) => {
    if (leaving === on) return;
    leaving = on;
    view.setTabFocusMode(on);
  };
  return EditorView.domEventHandlers({
    keydown(event, view) {
      if (event.key === 'Escape') set(view, true);
      else if (!['Tab', 'Shift', 'Control', 'Alt', 'Meta'].includes(event.key)) set(view, false);
      return false;
    },
    blur(_event, view) {
      set(view, false);
      return false;
    },
  });
}

const HINT = 'cm-hint';

/** Below the text: where the cursor is, how to leave, and a button for the search. */
function status(view: EditorView) {
  const words = t();
  const dom = document.createElement('div');
  dom.className = 'cm-status';
  const place = dom.appendChild(document.createElement('span'));
  const hint = dom.appendChild(document.createElement('span'));
  hint.className = 'cm-status-hint';
  hint.id = HINT;
  const find = dom.appendChild(document.createElement('button'));
  find.type = 'button';
  find.className = 'cm-button';
  find.textContent = words.find;
  find.addEventListener('click', () => openSearchPanel(view));
  const show = () => {
    const { head } = view.state.selection.main;
    const line = view.state.doc.lineAt(head);
    place.textContent = words.place(line.number, head - line.from + 1);
    hint.textContent = view.state.readOnly ? words.readOnly : words.hint;
  };
  show();
  return { dom, update: show };
}

/** What the editor and comparisons have in common. */
function common(label: string): Extension {
  return [
    lineNumbers(),
    highlightSpecialChars(),
    template,
    look,
    // Only \n ends a line, so that a \r stays what it is.
    EditorState.lineSeparator.of('\n'),
    EditorState.tabSize.of(4),
    EditorState.phrases.of(language.peek() === 'zh' ? PHRASES_ZH : PHRASES_EN),
    EditorView.contentAttributes.of({
      'aria-label': label,
      tabindex: '0',
      spellcheck: 'false',
      autocorrect: 'off',
      autocapitalize: 'off',
    }),
  ];
}

const readOnly = (on: boolean): Extension => [
  EditorState.readOnly.of(on),
  EditorView.contentAttributes.of({ 'aria-readonly': String(on) }),
];

export function mountEditor(
  root: ShadowRoot,
  { text, label, onChange }: { text: string; label: string; onChange: (text: string) => void },
): EditorHandle {
  const locked = new Compartment();
  const compared = new Compartment();
  let quiet = false;
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: text,
      extensions: [
        common(label),
        errorField,
        history(),
        bracketMatching(),
        search({ top: true }),
        leaveWithEscape(),
        keymap.of([...searchKeymap, ...historyKeymap, ...defaultKeymap, indentWithTab]),
        showPanel.of(status),
        EditorView.contentAttributes.of({ 'aria-describedby': HINT }),
        locked.of(readOnly(false)),
        compared.of([]),
        EditorView.updateListener.of(update => {
          if (update.docChanged && !quiet) onChange(update.state.doc.toString());
        }),
      ],
    }),
  });
  const at = ({ line, column }: Place) => {
    const found = view.state.doc.line(Math.min(Math.max(line, 1), view.state.doc.lines));
    return Math.min(found.from + (column ?? 1) - 1, found.to);
  };
  return {
    setText(next) {
      if (next === view.state.doc.toString()) return;
      quiet = true;
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: next } });
      quiet = false;
    },
    setError: place => view.dispatch({ effects: setError.of(place) }),
    setReadOnly: on => view.dispatch({ effects: locked.reconfigure(readOnly(on)) }),
    setOriginal: original =>
      view.dispatch({
        effects: compared.reconfigure(
          original === null ? [] : unifiedMergeView({ original, mergeControls: false, allowInlineDiffs: false }),
        ),
      }),
    insert(inserted) {
      view.dispatch(view.state.replaceSelection(inserted), { scrollIntoView: true });
      view.focus();
    },
    goTo(place) {
      const anchor = at(place);
      view.dispatch({ selection: { anchor }, effects: EditorView.scrollIntoView(anchor, { y: 'center' }) });
      view.focus();
    },
    destroy: () => view.destroy(),
  };
}

/** How many lines the ranges of a text have. */
function linesOf(state: EditorState, ranges: { from: number; to: number }[]): number {
  let sum = 0;
  for (const { from, to } of ranges)
    if (to > from) {
      // A range ends behind the line break, or behind the end of the text.
      const last = state.doc.lineAt(Math.min(to - 1, state.doc.length));
      sum += last.number - state.doc.lineAt(from).number + 1;
    }
  return sum;
}

/** Two texts: beside each other, or one with what was removed in it. */
export function mountDiff(
  root: ShadowRoot,
  {
    before,
    after,
    label,
    beside,
    equal,
  }: { before: string; after: string; label: string; beside: boolean; equal: boolean },
): DiffHandle {
  const words = t();
  const collapse = equal ? {} : { collapseUnchanged: { margin: 3, minSize: 4 } };
  const side = (name: string) => [
    common(name),
    readOnly(true),
    keymap.of([...searchKeymap, ...defaultKeymap]),
    search({ top: true }),
  ];
  const a = EditorState.create({ doc: before, extensions: EditorState.lineSeparator.of('\n') });
  let b: EditorState;
  let destroy: () => void;
  if (beside) {
    const merge = new MergeView({
      a: { doc: before, extensions: side(words.before(label)) },
      b: { doc: after, extensions: side(words.after(label)) },
      parent: root,
      root,
      ...collapse,
    });
    b = merge.b.state;
    destroy = () => merge.destroy();
  } else {
    const view = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: after,
        extensions: [
          side(label),
          unifiedMergeView({ original: before, mergeControls: false, allowInlineDiffs: false, ...collapse }),
        ],
      }),
    });
    b = view.state;
    destroy = () => view.destroy();
  }
  const chunks = getChunks(b)?.chunks ?? [];
  return {
    added: linesOf(
      b,
      chunks.map(one => ({ from: one.fromB, to: one.toB })),
    ),
    removed: linesOf(
      a,
      chunks.map(one => ({ from: one.fromA, to: one.toA })),
    ),
    destroy,
  };
}
