/** A question before something that cannot be taken back. Stays open and says why when it was refused. */
import type { ComponentChildren } from 'preact';
import { t } from '../i18n/common';
import { Button } from './button';
import { Dialog } from './dialog';
import './field.css';
import { errorText } from './states';
import { useSubmit } from './use-submit';

interface ConfirmProps {
  title: string;
  /** What happens then. */
  children: ComponentChildren;
  /** The words of the button. */
  action: string;
  danger?: boolean;
  run: () => Promise<unknown>;
  onClose: () => void;
}

export function Confirm({ title, children, action, danger, run, onClose }: ConfirmProps) {
  const { busy, error, send } = useSubmit(run, onClose);
  return (
    <Dialog
      title={title}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose} autofocus>
            {t().cancel}
          </Button>
          <Button kind={danger ? 'danger' : 'primary'} busy={busy} onClick={send}>
            {action}
          </Button>
        </>
      }
    >
      <div class="stack">
        <p>{children}</p>
        {error && (
          <p class="note note-bad" role="alert">
            {errorText(error)}
          </p>
        )}
      </div>
    </Dialog>
  );
}
