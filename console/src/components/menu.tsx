/** A button that opens a list of commands: WAI-ARIA menu button. */
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { Button } from './button';
import { Icon, type IconName } from './icon';
import './menu.css';

export interface MenuItem {
  label: string;
  icon?: IconName;
  onSelect?: () => void;
  href?: string;
  checked?: boolean;
  blocked?: string | null | undefined;
  /** A heading above it. */
  section?: string;
  /** Stays open, for several choices. */
  keep?: boolean;
}

interface MenuProps {
  items: MenuItem[];
  children?: ComponentChildren;
  icon?: IconName;
  label?: string;
  kind?: 'plain' | 'quiet';
  size?: 'small' | 'normal';
  side?: 'left' | 'right';
  class?: string;
}

export function Menu({ items, children, icon, label, kind = 'plain', size, side = 'left', class: extra }: MenuProps) {
  const [open, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const id = useId();

  const focusItem = (step: number | 'first' | 'last') => {
    const all = [...(list.current?.querySelectorAll<HTMLElement>('[role^=menuitem]') ?? [])];
    const at = all.indexOf(document.activeElement as HTMLElement);
    const next = step === 'first' ? 0 : step === 'last' ? all.length - 1 : (at + step + all.length) % all.length;
    all[next]?.focus();
  };

  useEffect(() => {
    if (!open) return;
    focusItem('first');
    const outside = (event: Event) => {
      if (!root.current?.contains(event.target as Node)) setOpen(false);
    };
    addEventListener('pointerdown', outside);
    return () => removeEventListener('pointerdown', outside);
  }, [open]);

  const close = () => {
    setOpen(false);
    button.current?.focus();
  };

  const keys = (event: KeyboardEvent) => {
    const steps: Record<string, number | 'first' | 'last'> = { ArrowDown: 1, ArrowUp: -1, Home: 'first', End: 'last' };
    const step = steps[event.key];
    if (step !== undefined) focusItem(step);
    else if (event.key === 'Escape') close();
    else if (event.key === 'Tab') {
      setOpen(false);
      return;
    } else if (event.key.length === 1 && /\S/.test(event.key) && !event.ctrlKey) {
      const all = [...(list.current?.querySelectorAll<HTMLElement>('[role^=menuitem]') ?? [])];
      all.find(item => item.textContent?.trim().toLowerCase().startsWith(event.key.toLowerCase()))?.focus();
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };

  return (
    <div class={`menu ${extra ?? ''}`} ref={root} onKeyDown={open ? keys : undefined}>
      <Button
        buttonRef={button}
        kind={kind}
        {...(size ? { size } : {})}
        {...(icon ? { icon } : {})}
        {...(label ? { label } : {})}
        popup="menu"
        expanded={open}
        onClick={() => setOpen(!open)}
      >
        {children && (
          <>
            {children} <Icon name="down" size={12} />
          </>
        )}
      </Button>
      {open && (
        <div class={`menu-list menu-${side}`} role="menu" id={id} ref={list} aria-label={label}>
          {items.map((item, index) => (
            <MenuEntry key={`${index} ${item.label}`} item={item} close={close} />
          ))}
        </div>
      )}
    </div>
  );
}

function MenuEntry({ item, close }: { item: MenuItem; close: () => void }) {
  const inside = (
    <>
      <span class="menu-icon">
        {item.checked ? (
          <Icon name="check" size={14} />
        ) : item.icon && item.checked === undefined ? (
          <Icon name={item.icon} size={14} />
        ) : null}
      </span>
      <span class="grow">{item.label}</span>
      {item.blocked && <span class="menu-blocked">{item.blocked}</span>}
    </>
  );
  const role = item.checked === undefined ? 'menuitem' : 'menuitemcheckbox';
  return (
    <>
      {item.section !== undefined && (
        <div class="menu-section" role="presentation">
          {item.section}
        </div>
      )}
      {item.href ? (
        <a class="menu-item" role={role} href={item.href} tabIndex={-1} onClick={close}>
          {inside}
        </a>
      ) : (
        <button
          type="button"
          class="menu-item"
          role={role}
          tabIndex={-1}
          aria-checked={item.checked}
          aria-disabled={item.blocked ? true : undefined}
          onClick={() => {
            if (item.blocked) return;
            if (!item.keep) close();
            item.onSelect?.();
          }}
        >
          {inside}
        </button>
      )}
    </>
  );
}
