/** How many are in which state, as a bar and in words for those who do not see it. */
import { stateWord } from '../i18n/common';
import { count } from '../i18n/format';
import { STATES, type Tone, toneOf } from './state-badge';
import './state-bar.css';

interface Part {
  key: string;
  word: string;
  tone: Tone;
  count: number;
}

export function Bar({ parts, label }: { parts: Part[]; label: string }) {
  const shown = parts.filter(part => part.count > 0);
  const words = shown.map(part => `${part.word} ${count(part.count)}`).join(', ');
  return (
    <span class="state-bar" role="img" aria-label={`${label}: ${words}`} title={words}>
      {shown.map(part => (
        <span key={part.key} class={`tone-${part.tone}`} style={{ flexGrow: part.count }} />
      ))}
    </span>
  );
}

export function StateBar({ states, label }: { states: Record<string, number>; label: string }) {
  const known = STATES.filter(state => state in states);
  const other = Object.keys(states).filter(state => !known.includes(state));
  const parts = [...known, ...other].map(state => ({
    key: state,
    word: stateWord(state),
    tone: toneOf(state),
    count: states[state] ?? 0,
  }));
  return <Bar parts={parts} label={label} />;
}
