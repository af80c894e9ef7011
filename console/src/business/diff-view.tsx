/** Two texts line by line: what was removed, what was added. */
import { count } from '../i18n/format';
import { diffLines, fold } from './diff';
import './diff.css';
import { t } from './strings';

const MARKS = { same: ' ', added: '+', removed: '-' } as const;

export function DiffView({ before, after, label }: { before: string; after: string; label: string }) {
  const words = t();
  const all = diffLines(before, after);
  if (all.every(line => line.kind === 'same')) return <p class="muted">{words.same}</p>;
  return (
    // The region scrolls, so the keyboard must reach it.
    <section class="diff" aria-label={label} tabIndex={0}>
      {fold(all).map((line, index) =>
        typeof line === 'number' ? (
          <div key={index} class="diff-fold">
            {words.unchanged(count(line))}
          </div>
        ) : (
          <div key={index} class={`diff-line diff-${line.kind}`}>
            <span class="diff-number">{line.before}</span>
            <span class="diff-number">{line.after}</span>
            <span class="diff-mark">
              {MARKS[line.kind]}
              {line.kind !== 'same' && <span class="visually-hidden"> {words[line.kind]}: </span>}
            </span>
            <span class="diff-text">{line.text}</span>
          </div>
        ),
      )}
    </section>
  );
}
