import type { ComponentChildren, Ref } from 'preact';
import './button.css';
import { Icon, type IconName } from './icon';

interface ButtonProps {
  children?: ComponentChildren;
  icon?: IconName;
  /** Where there is no room for words. */
  label?: string;
  kind?: 'plain' | 'primary' | 'danger' | 'quiet';
  size?: 'small' | 'normal';
  type?: 'button' | 'submit';
  onClick?: (event: MouseEvent) => void;
  /** Why it cannot be used now. The button stays, can be reached by keyboard, and says so. */
  blocked?: string | null | undefined;
  pressed?: boolean;
  expanded?: boolean;
  popup?: 'menu' | 'dialog' | 'listbox';
  title?: string;
  busy?: boolean;
  buttonRef?: Ref<HTMLButtonElement>;
  class?: string;
  autofocus?: boolean;
}

export function Button(props: ButtonProps) {
  const { kind = 'plain', size = 'normal', blocked, busy } = props;
  return (
    <button
      type={props.type ?? 'button'}
      class={`button button-${kind} button-${size} ${props.children ? '' : 'button-icon'} ${props.class ?? ''}`}
      aria-label={props.label}
      aria-disabled={blocked || busy ? true : undefined}
      aria-pressed={props.pressed}
      aria-expanded={props.expanded}
      aria-haspopup={props.popup}
      title={blocked ?? props.title ?? props.label}
      ref={props.buttonRef}
      autofocus={props.autofocus}
      onClick={event => {
        if (blocked || busy) {
          event.preventDefault();
          return;
        }
        props.onClick?.(event);
      }}
    >
      {busy ? (
        <Icon name="spinner" size={14} />
      ) : (
        props.icon && <Icon name={props.icon} size={size === 'small' ? 13 : 15} />
      )}
      {props.children && <span class="button-text">{props.children}</span>}
      {blocked && props.children && <span class="visually-hidden"> ({blocked})</span>}
    </button>
  );
}
