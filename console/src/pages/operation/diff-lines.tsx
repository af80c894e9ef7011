/** A unified diff: what should be there and what is there, marked by sign, colour and legend. */
import { t } from './strings';

const kindOf = (line: string) =>
  /^(---|\+\+\+) /.test(line)
    ? 'file'
    : line.startsWith('@@')
      ? 'place'
      : line.startsWith('-')
        ? 'old'
        : line.startsWith('+')
          ? 'new'
          : 'same';

export function DiffLines({ text }: { text: string }) {
  const words = t();
  if (!text.trim()) return <p class="muted">{words.same}</p>;
  return (
    <>
      <p class="line diff-legend">
        <span class="diff-old">− {words.diffLegend.old}</span>
        <span class="diff-new">+ {words.diffLegend.now}</span>
      </p>
      <pre class="code-block diff" role="region" tabIndex={0} aria-label={words.diff}>
        {text
          .trimEnd()
          .split('\n')
          .map((line, index) => (
            <span key={index} class={`diff-line diff-${kindOf(line)}`}>
              {line || ' '}
            </span>
          ))}
      </pre>
    </>
  );
}
