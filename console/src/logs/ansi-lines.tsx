/** Output as lines of text with colours. Text nodes only: nothing in it is ever markup. */
import { parseAnsi } from './ansi';
import './ansi.css';

export function AnsiText({ line }: { line: string }) {
  const spans = parseAnsi(line);
  if (spans.length === 1 && spans[0]?.classes === '') return <>{spans[0].text}</>;
  return (
    <>
      {spans.map((span, index) =>
        span.classes === '' ? (
          span.text
        ) : (
          <span key={index} class={span.classes}>
            {span.text}
          </span>
        ),
      )}
    </>
  );
}

export function AnsiLines({ lines, label }: { lines: string[]; label?: string }) {
  return (
    // The region scrolls, so the keyboard must reach it.
    <pre class="output" tabIndex={0} aria-label={label}>
      {lines.map((line, index) => (
        <div key={index} class="output-line">
          <AnsiText line={line} />
          {line === '' && ' '}
        </div>
      ))}
    </pre>
  );
}
