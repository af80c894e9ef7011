/** A text field with suggestions: WAI-ARIA combobox with a listbox. */
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import './combobox.css';

export interface Option {
  value: string;
  label: ComponentChildren;
  note?: ComponentChildren;
}

interface ComboboxProps {
  value: string;
  onInput: (text: string) => void;
  /** An option was chosen, or Enter was pressed on the text (`option` is null). */
  onChoose: (option: Option | null) => void;
  options: Option[];
  label: string;
  placeholder?: string;
  onKeyDown?: (event: KeyboardEvent) => void;
  onPaste?: (event: ClipboardEvent) => void;
  inputRef?: { current: HTMLInputElement | null };
  id?: string;
  /** Enter takes the first option when none is marked. */
  eager?: boolean;
  alwaysOpen?: boolean;
  autofocus?: boolean;
  class?: string;
}

export function Combobox(props: ComboboxProps) {
  const [focused, setFocused] = useState(false);
  const [closed, setClosed] = useState(false);
  const [active, setActive] = useState(-1);
  const own = useRef<HTMLInputElement | null>(null);
  const input = props.inputRef ?? own;
  const id = useId();
  const open = (props.alwaysOpen || (focused && !closed)) && props.options.length > 0;
  useEffect(() => setActive(props.eager ? 0 : -1), [props.value, props.options.length]);
  useEffect(() => {
    document.getElementById(`${id}-${active}`)?.scrollIntoView({ block: 'nearest' });
  }, [active]);

  const keys = (event: KeyboardEvent) => {
    if (event.isComposing) return;
    const last = props.options.length - 1;
    if (event.key === 'ArrowDown' && last >= 0) {
      setClosed(false);
      setActive(active >= last ? 0 : active + 1);
    } else if (event.key === 'ArrowUp' && last >= 0) {
      setClosed(false);
      setActive(active <= 0 ? last : active - 1);
    } else if (event.key === 'Enter') {
      const option = open ? (props.options[active] ?? null) : null;
      props.onChoose(option);
    } else if (event.key === 'Escape' && open && !props.alwaysOpen) {
      setClosed(true);
    } else {
      props.onKeyDown?.(event);
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  };

  return (
    <div class={`combobox ${props.class ?? ''}`}>
      <input
        ref={element => {
          input.current = element;
        }}
        type="text"
        role="combobox"
        autocomplete="off"
        spellcheck={false}
        autofocus={props.autofocus}
        aria-label={props.label}
        aria-expanded={open}
        aria-controls={open ? id : undefined}
        aria-autocomplete="list"
        aria-activedescendant={open && active >= 0 ? `${id}-${active}` : undefined}
        placeholder={props.placeholder}
        value={props.value}
        onInput={event => {
          setClosed(false);
          props.onInput(event.currentTarget.value);
        }}
        onFocus={() => {
          setFocused(true);
          setClosed(false);
        }}
        onBlur={() => setFocused(false)}
        onKeyDown={keys}
        onPaste={props.onPaste}
      />
      {open && (
        <div class="combobox-list" role="listbox" id={id} aria-label={props.label}>
          {props.options.map((option, index) => (
            <div
              key={option.value}
              id={`${id}-${index}`}
              role="option"
              class="combobox-option"
              aria-selected={index === active}
              // Before the field loses the focus.
              onPointerDown={event => {
                event.preventDefault();
                props.onChoose(option);
              }}
            >
              <span class="grow ellipsis">{option.label}</span>
              {option.note !== undefined && <span class="combobox-note">{option.note}</span>}
            </div>
          ))}
        </div>
      )}
    </div>
  );
}
