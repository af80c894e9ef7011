/** The lines of a difference by what they are about. */
import type { Difference } from '../../business/api';
import { sentence } from '../../i18n/reasons';

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

/** The lines of the server, which begin with a mark and the kind; in Chinese made from their codes. */
export function byKind({ lines, changes }: Pick<Difference, 'lines' | 'changes'>): { kind: Kind; lines: Line[] }[] {
  const groups = new Map<Kind, Line[]>();
  lines.forEach((line, index) => {
    const mark = (/^[+~!-] /.test(line) ? line[0] : '~') as Mark;
    const english = line.replace(/^[+~!-] /, '');
    const kind = STARTS.find(([start]) => start.test(english))?.[1] ?? 'other';
    const text = sentence(changes?.[index], english.replace(/^(service instance|\w+) /, ''));
    groups.set(kind, [...(groups.get(kind) ?? []), { mark, text }]);
  });
  return KINDS.flatMap(kind => {
    const found = groups.get(kind);
    return found ? [{ kind, lines: found }] : [];
  });
}
