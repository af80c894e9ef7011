/** An editor for config templates: numbers of lines, colours, search, the place of an error, and the differences from another text. */
import type { Ref } from 'preact';
import { useEffect, useImperativeHandle, useRef } from 'preact/hooks';
import { ErrorBox, Skeleton } from '../components/states';
import type { EditorHandle, Place } from './codemirror';
import './editor.css';
import { useMounted } from './load';

interface EditorProps {
  value: string;
  onInput: (text: string) => void;
  label: string;
  errorAt?: Place | null;
  readOnly?: boolean;
  /** Shows what differs from this text. */
  original?: string | null;
  /** To insert text and to go to a line; null until the editor is loaded. */
  editorRef?: Ref<Pick<EditorHandle, 'insert' | 'goTo'> | null>;
}

export function Editor({
  value,
  onInput,
  label,
  errorAt = null,
  readOnly = false,
  original = null,
  editorRef,
}: EditorProps) {
  const changed = useRef(onInput);
  changed.current = onInput;
  /** What was written and has not come back as `value` yet: a page that is behind takes nothing away. */
  const written = useRef<string[]>([]);
  const { host, handle, error } = useMounted(
    (module, root) =>
      module.mountEditor(root, {
        text: value,
        label,
        onChange: text => {
          written.current.push(text);
          changed.current(text);
        },
      }),
    [label],
  );
  useImperativeHandle(editorRef ?? null, () => handle, [handle]);
  useEffect(() => {
    const place = written.current.lastIndexOf(value);
    if (place >= 0) {
      written.current.splice(0, place + 1);
      return;
    }
    written.current = [];
    handle?.setText(value);
  }, [handle, value]);
  useEffect(() => handle?.setReadOnly(readOnly), [handle, readOnly]);
  useEffect(() => handle?.setOriginal(original), [handle, original]);
  // After the text, so that the line exists.
  useEffect(() => handle?.setError(errorAt), [handle, errorAt?.line, errorAt?.column]);
  return (
    <div class="editor" aria-busy={handle === null && error === null}>
      {error ? <ErrorBox error={error} /> : handle === null && <Skeleton lines={8} />}
      <div class="editor-host" ref={host} />
    </div>
  );
}
