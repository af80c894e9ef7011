/** The definition that is being written: its fields by path, and the same as JSON text. Pure. */
import type { Definition } from './changes';

type Json = Record<string, unknown>;

/** `after[0].process` as its steps. */
const stepsOf = (path: string): string[] => path.split(/[.[\]]+/).filter(step => step !== '');

const isContainer = (value: unknown): value is Json => typeof value === 'object' && value !== null;

export function valueAt(spec: Json, path: string): unknown {
  let at: unknown = spec;
  for (const step of stepsOf(path)) {
    if (!isContainer(at)) return undefined;
    at = at[step];
  }
  return at;
}

/** A copy with this value there; undefined takes it out, and with it the sections that it leaves empty. */
export function withValue(spec: Json, path: string, value: unknown): Json {
  return (put(spec, stepsOf(path), value) ?? {}) as Json;
}

function put(at: unknown, [step, ...rest]: string[], value: unknown): unknown {
  if (step === undefined) return value;
  if (Array.isArray(at)) {
    const items = [...at];
    const next = put(items[Number(step)], rest, value);
    if (next === undefined) items.splice(Number(step), 1);
    else items[Number(step)] = next;
    return items.length === 0 ? undefined : items;
  }
  const { [step]: old, ...others } = isContainer(at) ? at : ({} as Json);
  const next = put(old, rest, value);
  // In its old place, so that the text moves as little as possible.
  if (next !== undefined) return isContainer(at) ? { ...at, [step]: next } : { [step]: next };
  return Object.keys(others).length === 0 ? undefined : others;
}

/** What a field shows for a value. */
export function textOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (Array.isArray(value)) return value.join(', ');
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

/** A number where the text is one; other text stays as it is, so that the server says what is wrong with it. */
export function numberOf(text: string): number | string | undefined {
  const trimmed = text.trim();
  if (trimmed === '') return undefined;
  return /^-?\d+(\.\d+)?$/.test(trimmed) ? Number(trimmed) : trimmed;
}

/** Words between commas; numbers as numbers. */
export function wordsOf(text: string): (number | string)[] | undefined {
  const words = text
    .split(/[,，\s]+/)
    .map(numberOf)
    .filter(word => word !== undefined);
  return words.length > 0 ? words : undefined;
}

/** A pair in each line; a line without `=` is a label without a value. */
export function labelsOf(text: string): Record<string, string> {
  const pairs = text
    .split('\n')
    .filter(line => line.trim() !== '')
    .map((line): [string, string] => {
      const at = line.indexOf('=');
      return at < 0 ? [line.trim(), ''] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
    });
  return Object.fromEntries(pairs);
}

export const labelsText = (labels: Record<string, string>) =>
  Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join('\n');

export const jsonText = ({ spec, labels }: Definition) => `${JSON.stringify({ labels, spec }, null, 2)}\n`;

export interface TextError {
  message: string;
  line: number;
  column: number;
}

const KEYS = ['labels', 'spec'];

/** What the text says, or where it is not what a definition is. */
export function readText(text: string): { definition: Definition } | { error: TextError } {
  const at = (offset: number) => {
    const before = text.slice(0, offset).split('\n');
    return { line: before.length, column: (before[before.length - 1]?.length ?? 0) + 1 };
  };
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch (failed) {
    return { error: { message: (failed as Error).message, ...at(firstError(text)) } };
  }
  const wrong = (message: string, path: string) => ({
    error: { message, ...(placeOf(text, path) ?? { line: 1, column: 1 }) },
  });
  if (!isContainer(read) || Array.isArray(read)) return wrong('{ "labels": …, "spec": … }', '');
  const other = Object.keys(read).find(key => !KEYS.includes(key));
  if (other !== undefined) return wrong(`${other}: { "labels": …, "spec": … }`, other);
  for (const key of KEYS)
    if (read[key] !== undefined && (!isContainer(read[key]) || Array.isArray(read[key])))
      return wrong(`${key}: { … }`, key);
  const labels = Object.entries((read.labels as Json | undefined) ?? {}).map(([key, value]) => [key, textOf(value)]);
  return { definition: { spec: (read.spec as Json | undefined) ?? {}, labels: Object.fromEntries(labels) } };
}

const LITERAL = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;

/** The offset from which a text is no JSON any more; browsers do not all tell. */
function firstError(text: string): number {
  let at = 0;
  const blank = () => {
    while (/\s/.test(text[at] ?? '')) at++;
  };
  const take = (pattern: RegExp) => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found) at += found[0].length;
    return found !== null;
  };
  const sign = (wanted: string) => {
    blank();
    if (text[at] !== wanted) return false;
    at++;
    return true;
  };
  const members = (end: string, member: () => boolean): boolean => {
    if (sign(end)) return true;
    do if (!member()) return false;
    while (sign(','));
    return sign(end);
  };
  const value = (): boolean => {
    if (sign('{'))
      return members('}', () => {
        blank();
        return take(STRING) && sign(':') && value();
      });
    if (sign('[')) return members(']', value);
    return take(STRING) || take(LITERAL);
  };
  if (value()) blank();
  return at;
}

/** Where the key of this field stands in valid JSON text, or the nearest of its sections that is there; from 1. */
export function placeOf(text: string, path: string): { line: number; column: number } | null {
  const wanted = stepsOf(path);
  /** For each container that is open: its keys, or a number for the place in an array. */
  const open: (string | number)[] = [];
  let best = { depth: 0, offset: -1 };
  let key: { name: string; offset: number } | null = null;
  const tokens = /"(?:[^"\\]|\\.)*"|[{}[\],:]/g;
  const note = (offset: number) => {
    const depth = open.length;
    const matches = open.every((step, index) => String(step) === wanted[index]);
    if (matches && depth > best.depth) best = { depth, offset };
  };
  for (const token of text.matchAll(tokens)) {
    const [word] = token;
    if (word.startsWith('"')) key = { name: JSON.parse(word) as string, offset: token.index };
    else if (word === ':' && key !== null) {
      // The key of the object that is open takes the place of the one before.
      open[open.length - 1] = key.name;
      note(key.offset);
    } else if (word === '{') open.push('');
    else if (word === '[') {
      open.push(0);
      note(token.index);
    } else if (word === '}' || word === ']') open.pop();
    else if (word === ',' && typeof open[open.length - 1] === 'number') {
      open[open.length - 1] = Number(open[open.length - 1]) + 1;
      note(token.index + 1);
    }
  }
  if (best.offset < 0) return null;
  const before = text.slice(0, best.offset).split('\n');
  return { line: before.length, column: (before[before.length - 1]?.length ?? 0) + 1 };
}
