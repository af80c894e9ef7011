import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { t } from '../i18n/common';
import { Button } from './button';
import './dialog.css';

interface DialogProps {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  footer?: ComponentChildren;
  wide?: boolean;
  /** Cannot be closed without an answer. */
  stays?: boolean;
  class?: string;
}

/** A modal `<dialog>`: the browser keeps the focus inside, closes it with Escape and gives the focus back. */
export function Dialog({ title, onClose, children, footer, wide, stays, class: extra }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const element = dialog.current;
    const before = document.activeElement;
    if (element && !element.open) element.showModal();
    return () => {
      element?.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      class={`dialog ${wide ? 'dialog-wide' : ''} ${extra ?? ''}`}
      aria-labelledby={id}
      onCancel={event => {
        event.preventDefault();
        if (!stays) onClose();
      }}
      onMouseDown={event => {
        if (event.target === dialog.current && !stays) onClose();
      }}
    >
      <div class="dialog-inside">
        <header class="dialog-head">
          <h2 id={id}>{title}</h2>
          {!stays && <Button kind="quiet" size="small" icon="close" label={t().close} onClick={onClose} />}
        </header>
        <div class="dialog-body">{children}</div>
        {footer && <footer class="dialog-foot">{footer}</footer>}
      </div>
    </dialog>
  );
}
