/** A panel at the right of a list, which stays usable. It takes the focus when it is opened and gives it back. */
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { t } from '../i18n/common';
import { Button } from './button';
import './drawer.css';

interface DrawerProps {
  title: ComponentChildren;
  onClose: () => void;
  children: ComponentChildren;
  actions?: ComponentChildren;
  /** Something else is shown in it. */
  subject: string;
}

export function Drawer({ title, onClose, children, actions, subject }: DrawerProps) {
  const panel = useRef<HTMLElement>(null);
  const id = useId();
  useEffect(() => {
    const before = document.activeElement;
    panel.current?.focus({ preventScroll: true });
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true });
    };
  }, []);
  useEffect(() => {
    panel.current?.querySelector('.drawer-body')?.scrollTo(0, 0);
  }, [subject]);
  return (
    <aside
      class="drawer"
      ref={panel}
      tabIndex={-1}
      aria-labelledby={id}
      onKeyDown={event => {
        if (event.key !== 'Escape' || event.defaultPrevented) return;
        event.preventDefault();
        onClose();
      }}
    >
      <header class="drawer-head">
        <h2 id={id} class="grow">
          {title}
        </h2>
        {actions}
        <Button kind="quiet" size="small" icon="close" label={t().close} onClick={onClose} />
      </header>
      <div class="drawer-body">{children}</div>
    </aside>
  );
}
