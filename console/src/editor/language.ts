/** Colours for config templates: Mako's marks, and Python inside of them. It only colours; the server decides what is a template. */
import type { StreamParser, StringStream } from '@codemirror/language';

type Place = 'text' | 'literal' | 'comment' | 'expression' | 'control' | 'code';

export interface State {
  place: Place;
  /** Brackets that are open inside of `${ }`. */
  depth: number;
  /** The quotes that end the string which is open at the end of the line. */
  quote: string;
  /** A line that ended with `\`: the next line goes on with it. */
  goesOn: boolean;
}

const KEYWORDS = new Set(
  'if elif else endif for endfor in not and or is lambda def return del pass break continue None True False'.split(' '),
);
const BUILTINS = new Set(
  (
    'abs all any bin bool callable capture chr context dict divmod enumerate filter float format getattr hasattr hex int ' +
    'isinstance len list loop map max min next oct ord pow range repr reversed round set sorted str sum tuple type zip'
  ).split(' '),
);

/** Reads up to the quotes that close a string; one in a single pair of quotes ends with its line. */
function string(stream: StringStream, state: State): string {
  const { quote } = state;
  while (!stream.eol()) {
    if (stream.match(quote)) {
      state.quote = '';
      return 'string';
    }
    if (stream.next() === '\\') stream.next();
  }
  if (quote.length === 1) state.quote = '';
  return 'string';
}

function python(stream: StringStream, state: State): string | null {
  if (stream.eatSpace()) return null;
  const quoted = stream.match(/^(?:[rRfF]{0,2})('''|"""|'|")/) as RegExpMatchArray | null;
  if (quoted) {
    state.quote = quoted[1] ?? '';
    return string(stream, state);
  }
  if (state.place !== 'expression' && stream.match(/^#.*/)) return 'comment';
  if (stream.match(/^(?:0[xXoObB][\da-fA-F_]+|\d[\d_]*(?:\.\d*)?(?:[eE][+-]?\d+)?)/)) return 'number';
  const attribute = stream.pos > 0 && stream.string[stream.pos - 1] === '.';
  const word = stream.match(/^[\p{L}_][\p{L}\p{N}_]*/u) as RegExpMatchArray | null;
  if (word) {
    if (attribute) return 'propertyName';
    if (KEYWORDS.has(word[0])) return 'keyword';
    return BUILTINS.has(word[0]) ? 'variableName.standard' : 'variableName';
  }
  stream.next();
  return 'operator';
}

/** To the mark that ends a comment or a literal text, which may be on a later line. */
function until(stream: StringStream, state: State, end: string, style: string | null): string | null {
  if (stream.match(end)) {
    state.place = 'text';
    return style ?? 'tagName';
  }
  if (!stream.skipTo(end)) stream.skipToEnd();
  return style;
}

function text(stream: StringStream, state: State): string | null {
  if (stream.sol()) {
    if (stream.match(/^[ \t]*##.*/)) return 'comment';
    if (stream.match(/^# Ginclude (?=["'])/)) {
      stream.skipToEnd();
      return 'meta';
    }
    if (stream.match(/^[ \t]*%%/)) return null;
    if (stream.match(/^[ \t]*%/)) {
      state.place = 'control';
      return 'meta';
    }
  }
  if (stream.match('${')) {
    state.place = 'expression';
    state.depth = 0;
    return 'meta';
  }
  if (stream.match('<%doc>')) {
    state.place = 'comment';
    return 'comment';
  }
  if (stream.match('<%text>')) {
    state.place = 'literal';
    return 'tagName';
  }
  if (stream.match(/^<\/?%[a-z]+[^>]*>/)) return 'tagName';
  if (stream.match(/^<%!?(?![a-z])/)) {
    state.place = 'code';
    return 'meta';
  }
  stream.next();
  while (!stream.eol() && !stream.match(/^(?:\$\{|<\/?%)/, false)) stream.next();
  return null;
}

function expression(stream: StringStream, state: State): string | null {
  const next = stream.peek();
  if (next === '}' && state.depth === 0) {
    stream.next();
    state.place = 'text';
    return 'meta';
  }
  if (next && '([{'.includes(next)) state.depth++;
  if (next && ')]}'.includes(next)) state.depth--;
  return python(stream, state);
}

function code(stream: StringStream, state: State): string | null {
  if (stream.match('%>')) {
    state.place = 'text';
    return 'meta';
  }
  return python(stream, state);
}

function token(stream: StringStream, state: State): string | null {
  // A control line ends with its line, unless that ends with `\`.
  if (stream.sol() && state.place === 'control' && !state.goesOn) {
    state.place = 'text';
    state.quote = '';
  }
  state.goesOn = /\\\r?$/.test(stream.string);
  if (state.quote) return string(stream, state);
  switch (state.place) {
    case 'comment':
      return until(stream, state, '</%doc>', 'comment');
    case 'literal':
      return until(stream, state, '</%text>', null);
    case 'expression':
      return expression(stream, state);
    case 'control':
      return python(stream, state);
    case 'code':
      return code(stream, state);
    case 'text':
      return text(stream, state);
  }
}

export const templateParser: StreamParser<State> = {
  name: 'template',
  startState: () => ({ place: 'text', depth: 0, quote: '', goesOn: false }),
  copyState: state => ({ ...state }),
  token,
  blankLine: state => {
    if (state.place === 'control') state.place = 'text';
  },
};
