/** A text field for code: numbers of lines beside it, and the line of an error marked. */
import { useId, useRef } from 'preact/hooks';
import './editor.css';

interface EditorProps {
  value: string;
  onInput: (text: string) => void;
  label: string;
  /** From 1. */
  errorLine?: number | null;
  readOnly?: boolean;
}

export function Editor({ value, onInput, label, errorLine, readOnly }: EditorProps) {
  const gutter = useRef<HTMLDivElement>(null);
  const id = useId();
  const lines = value.split('\n').length;
  return (
    <div class="editor">
      <div class="editor-gutter" ref={gutter} aria-hidden="true">
        {Array.from({ length: lines }, (_, index) => (
          <div key={index} class={index + 1 === errorLine ? 'editor-wrong' : ''}>
            {index + 1}
          </div>
        ))}
      </div>
      <textarea
        id={id}
        class="editor-text"
        aria-label={label}
        aria-invalid={errorLine ? true : undefined}
        spellcheck={false}
        autocomplete="off"
        wrap="off"
        readOnly={readOnly}
        value={value}
        onInput={event => onInput(event.currentTarget.value)}
        onScroll={event => {
          if (gutter.current) gutter.current.scrollTop = event.currentTarget.scrollTop;
        }}
      />
    </div>
  );
}
