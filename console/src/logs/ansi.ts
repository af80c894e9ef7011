/** Colours of terminal output as classes. Everything else that a terminal would obey is removed; the text stays text. */

export interface Span {
  text: string;
  /** Empty, or some of `ansi-bold`, `ansi-fg-1`, `ansi-bg-4`. */
  classes: string;
}

interface Style {
  bold: boolean;
  dim: boolean;
  italic: boolean;
  underline: boolean;
  fg: number | null;
  bg: number | null;
}

const PLAIN: Style = { bold: false, dim: false, italic: false, underline: false, fg: null, bg: null };

/** Sequences: CSI, OSC (titles and links), and two-character ones. */
const SEQUENCE =
  /\x1b\[([0-9;:]*)([A-Za-z])|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[@-Z\\^_]|[\x00-\x08\x0b-\x1f\x7f]/g;

export function parseAnsi(line: string): Span[] {
  if (!/[\x00-\x08\x0b-\x1f\x7f]/.test(line)) return [{ text: line, classes: '' }];
  const spans: Span[] = [];
  let style = PLAIN;
  let at = 0;
  const push = (text: string) => {
    if (text === '') return;
    const classes = classesOf(style);
    const last = spans[spans.length - 1];
    if (last && last.classes === classes) last.text += text;
    else spans.push({ text, classes });
  };
  for (const match of line.matchAll(SEQUENCE)) {
    push(line.slice(at, match.index));
    at = match.index + match[0].length;
    if (match[2] === 'm') style = applySgr(style, match[1] ?? '');
  }
  push(line.slice(at));
  return spans.length > 0 ? spans : [{ text: '', classes: '' }];
}

function applySgr(before: Style, codes: string): Style {
  let style = { ...before };
  const numbers = codes === '' ? [0] : codes.split(/[;:]/).map(Number);
  for (let i = 0; i < numbers.length; i++) {
    const n = numbers[i] ?? 0;
    if (n === 0) style = { ...PLAIN };
    else if (n === 1) style.bold = true;
    else if (n === 2) style.dim = true;
    else if (n === 3) style.italic = true;
    else if (n === 4) style.underline = true;
    else if (n === 22) style.bold = style.dim = false;
    else if (n === 23) style.italic = false;
    else if (n === 24) style.underline = false;
    else if (n >= 30 && n <= 37) style.fg = n - 30;
    else if (n >= 90 && n <= 97) style.fg = n - 90 + 8;
    else if (n === 39) style.fg = null;
    else if (n >= 40 && n <= 47) style.bg = n - 40;
    else if (n >= 100 && n <= 107) style.bg = n - 100 + 8;
    else if (n === 49) style.bg = null;
    else if (n === 38 || n === 48) {
      // 256 colours: the first 16 are ours. True colours are not shown.
      const indexed = numbers[i + 1] === 5;
      const colour = numbers[i + 2] ?? 0;
      if (indexed && colour < 16) style[n === 38 ? 'fg' : 'bg'] = colour;
      i += indexed ? 2 : 4;
    }
  }
  return style;
}

function classesOf(style: Style): string {
  const classes: string[] = [];
  if (style.bold) classes.push('ansi-bold');
  if (style.dim) classes.push('ansi-dim');
  if (style.italic) classes.push('ansi-italic');
  if (style.underline) classes.push('ansi-underline');
  if (style.fg !== null) classes.push(`ansi-fg-${style.fg}`);
  if (style.bg !== null) classes.push(`ansi-bg-${style.bg}`);
  return classes.join(' ');
}

/** For copying and filtering. */
export const withoutAnsi = (line: string) => line.replace(SEQUENCE, '');
