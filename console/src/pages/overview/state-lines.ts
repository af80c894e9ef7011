/** The lines of the chart of states. Pure. */
import type { Line } from '../../chart/chart';
import { STATES, toneOf } from '../../components/state-badge';
import { stateWord } from '../../i18n/common';
import { count } from '../../i18n/format';

export type StateLine = Line & { state: string; tone: string; write: (value: number) => string };

/** One line for each state that occurred; of two with the same colour the second is dashed. */
export function linesOf(states: Record<string, (number | null)[]>): StateLine[] {
  const used = new Set<string>();
  const known = [...STATES, ...Object.keys(states).filter(state => !STATES.includes(state))];
  return known.flatMap(state => {
    const values = states[state];
    if (!values?.some(value => value !== null && value > 0)) return [];
    const tone = toneOf(state);
    const dashed = used.has(tone);
    used.add(tone);
    return [{ state, tone, label: stateWord(state), values, colour: `--${tone}`, dashed, write: count }];
  });
}
