/** How the editor looks. It is inside a shadow root, where only the custom properties of the page reach; they follow the theme. */
import { HighlightStyle, syntaxHighlighting } from '@codemirror/language';
import { EditorView } from '@codemirror/view';
import { tags } from '@lezer/highlight';

const theme = EditorView.theme({
  '&': {
    height: '100%',
    color: 'var(--ink)',
    backgroundColor: 'var(--surface)',
    fontSize: '12.5px',
  },
  '&.cm-focused': { outline: '2px solid var(--focus)', outlineOffset: '-2px' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '20px' },
  '.cm-content': { padding: '8px 0', caretColor: 'var(--ink)' },
  '.cm-line': { padding: '0 10px 0 6px' },
  '.cm-gutters': {
    backgroundColor: 'var(--sunken)',
    color: 'var(--muted)',
    border: '0',
  },
  '.cm-lineNumbers .cm-gutterElement': { minWidth: '34px', padding: '0 8px 0 6px' },
  '&.cm-focused .cm-matchingBracket, .cm-matchingBracket': {
    backgroundColor: 'var(--active)',
    outline: '1px solid var(--line-strong)',
  },
  '&.cm-focused .cm-nonmatchingBracket, .cm-nonmatchingBracket': { backgroundColor: 'var(--bad-soft)' },
  '.cm-specialChar': { color: 'var(--bad)' },
  '.cm-selectionMatch': { backgroundColor: 'var(--active)' },
  '.cm-searchMatch': { backgroundColor: 'var(--warn-soft)', outline: '1px solid var(--warn-fill)' },
  '.cm-searchMatch-selected, .cm-searchMatch-selected .cm-selectionMatch': {
    backgroundColor: 'light-dark(#f7d48c, #5c4511)',
  },
  '.cm-line ::selection, .cm-line::selection': { backgroundColor: 'light-dark(#bfe0e4, #24535a) !important' },

  '.cm-line.cm-errorLine, &.cm-merge-b .cm-line.cm-errorLine': { backgroundColor: 'var(--bad-soft)' },
  '.cm-errorNumber': { backgroundColor: 'var(--bad-solid)', color: '#fff' },
  '.cm-errorPlace': { textDecoration: 'underline wavy var(--bad)', textUnderlineOffset: '3px' },

  '.cm-panels': { backgroundColor: 'var(--sunken)', color: 'var(--ink)', fontFamily: 'var(--font)', zIndex: '2' },
  '.cm-panels-top': { borderBottom: '1px solid var(--line)' },
  '.cm-panels-bottom': { borderTop: '1px solid var(--line)' },
  '.cm-panel.cm-search': { padding: '6px 36px 6px 8px', fontSize: '12px' },
  '.cm-panel.cm-search label': {
    fontSize: '12px',
    display: 'inline-flex',
    alignItems: 'center',
    gap: '4px',
    whiteSpace: 'nowrap',
    verticalAlign: 'middle',
    minHeight: '24px',
  },
  '.cm-panel.cm-search input[type=checkbox]': { margin: '0 2px 0 6px', accentColor: 'var(--accent-solid)' },
  '.cm-panel.cm-search br': { display: 'block' },
  '.cm-panel.cm-search [name=close]': {
    width: '26px',
    height: '26px',
    margin: '0',
    top: '4px',
    right: '4px',
    borderRadius: '4px',
    color: 'var(--muted)',
    fontSize: '16px',
  },
  '.cm-panel.cm-search [name=close]:hover': { backgroundColor: 'var(--hover)', color: 'var(--ink)' },
  '.cm-textfield': {
    height: '26px',
    margin: '2px 6px 2px 0',
    padding: '0 8px',
    border: '1px solid var(--control-line)',
    borderRadius: 'var(--radius)',
    backgroundColor: 'var(--surface)',
    color: 'var(--ink)',
    fontSize: '12px',
    maxWidth: '100%',
  },
  '.cm-button': {
    height: '26px',
    margin: '2px 4px 2px 0',
    padding: '0 9px',
    border: '1px solid var(--control-line)',
    borderRadius: 'var(--radius)',
    background: 'var(--surface)',
    color: 'var(--ink)',
    fontSize: '12px',
    cursor: 'pointer',
    '&:hover': { backgroundColor: 'var(--hover)' },
    '&:active': { backgroundImage: 'none', backgroundColor: 'var(--active)' },
  },
  '.cm-panel button:focus-visible, .cm-panel input:focus-visible': {
    outline: '2px solid var(--focus)',
    outlineOffset: '-1px',
  },
  '.cm-dialog': { padding: '6px 36px 6px 8px', fontSize: '12px' },
  '.cm-status': {
    display: 'flex',
    flexWrap: 'wrap',
    alignItems: 'center',
    gap: '2px 14px',
    minHeight: '30px',
    padding: '1px 4px 1px 8px',
    fontSize: '12px',
    color: 'var(--muted)',
  },
  '.cm-status-hint': { flex: '1' },

  '&.cm-merge-a .cm-changedLine, .cm-deletedChunk, .cm-deletedLine': { backgroundColor: 'var(--bad-soft)' },
  '&.cm-merge-b .cm-changedLine, .cm-insertedLine, .cm-inlineChangedLine': { backgroundColor: 'var(--good-soft)' },
  '&.cm-merge-a .cm-changedText, & .cm-deletedChunk .cm-deletedText': {
    background: 'linear-gradient(var(--bad-fill), var(--bad-fill)) bottom/100% 2px no-repeat',
  },
  '&.cm-merge-b .cm-changedText': {
    background: 'linear-gradient(var(--good-fill), var(--good-fill)) bottom/100% 2px no-repeat',
  },
  '.cm-deletedChunk': { paddingLeft: '0' },
  '.cm-deletedChunk .cm-deletedLine': { padding: '0 10px 0 6px' },
  '& .cm-collapsedLines': {
    padding: '1px 8px',
    background: 'var(--sunken)',
    color: 'var(--muted)',
    fontFamily: 'var(--font)',
    fontSize: '12px',
    '&:before, &:after': { content: '""', margin: '0' },
  },
  // The sign says it as well as the colour.
  '.cm-changeGutter': { width: '14px', paddingLeft: '0', textAlign: 'center', fontWeight: '700' },
  '&.cm-merge-a .cm-changedLineGutter, & .cm-deletedLineGutter': {
    background: 'var(--bad-soft)',
    color: 'var(--bad)',
    '&:before': { content: '"−"' },
  },
  '&.cm-merge-b .cm-changedLineGutter': {
    background: 'var(--good-soft)',
    color: 'var(--good)',
    '&:before': { content: '"+"' },
  },
});

const colours = HighlightStyle.define([
  { tag: tags.meta, color: 'var(--accent)', fontWeight: '620' },
  { tag: tags.tagName, color: 'var(--accent)' },
  { tag: tags.keyword, color: 'var(--plan)', fontWeight: '620' },
  { tag: tags.string, color: 'var(--good)' },
  { tag: tags.number, color: 'var(--warn)' },
  { tag: [tags.variableName, tags.propertyName], color: 'var(--info)' },
  { tag: tags.standard(tags.variableName), color: 'var(--plan)' },
  { tag: tags.comment, color: 'var(--muted)', fontStyle: 'italic' },
]);

export const look = [theme, syntaxHighlighting(colours)];
