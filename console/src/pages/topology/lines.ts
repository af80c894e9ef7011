/** The lines of a difference by what they are about. */
export type Mark = '+' | '~' | '-' | '!';

export interface Line {
  mark: Mark;
  text: string;
}

export const KINDS = ['set', 'module', 'host', 'service', 'process', 'instance', 'other'] as const;
export type Kind = (typeof KINDS)[number];

const STARTS: [RegExp, Kind][] = [
  [/^set /, 'set'],
  [/^module /, 'module'],
  [/^host /, 'host'],
  [/^service instance /, 'service'],
  [/^process /, 'process'],
  [/^instance /, 'instance'],
];

export function byKind(lines: string[]): { kind: Kind; lines: Line[] }[] {
  const groups = new Map<Kind, Line[]>();
  for (const line of lines) {
    const mark = (/^[+~!-] /.test(line) ? line[0] : '~') as Mark;
    const text = line.replace(/^[+~!-] /, '');
    const kind = STARTS.find(([start]) => start.test(text))?.[1] ?? 'other';
    groups.set(kind, [...(groups.get(kind) ?? []), { mark, text: text.replace(/^(service instance|\w+) /, '') }]);
  }
  return KINDS.flatMap(kind => {
    const found = groups.get(kind);
    return found ? [{ kind, lines: found }] : [];
  });
}
