/** Asks for name, place and owner of the files of a template: of a new one, or of one that is changed. */
import { useState } from 'preact/hooks';
import { Button } from '../components/button';
import { Dialog } from '../components/dialog';
import { ErrorBox } from '../components/states';
import { useSubmit } from '../components/use-submit';
import { t as common } from '../i18n/common';
import type { TemplateBody } from './api';
import { TemplateFields } from './template-fields';
import { t } from './template-strings';

interface TemplateDialogProps {
  title: string;
  action: string;
  body: TemplateBody;
  save: (body: TemplateBody) => Promise<unknown>;
  onClose: () => void;
}

export function TemplateDialog({ title, action, body: before, save, onClose }: TemplateDialogProps) {
  const words = t();
  const [body, setBody] = useState(before);
  const { busy, error, send } = useSubmit(() => save(body), onClose);
  const blocked =
    !body.template_name || !body.file_name || !body.abs_path
      ? words.missing
      : JSON.stringify(body) === JSON.stringify(before)
        ? words.unchanged
        : null;
  return (
    <Dialog
      title={title}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>{common().cancel}</Button>
          <Button kind="primary" busy={busy} blocked={blocked} onClick={send}>
            {action}
          </Button>
        </>
      }
    >
      <form
        class="stack"
        onSubmit={event => {
          event.preventDefault();
          if (!blocked) void send();
        }}
      >
        <TemplateFields body={body} onChange={setBody} />
        {error && <ErrorBox title={words.refused} error={error} />}
        <button type="submit" class="visually-hidden" tabIndex={-1} aria-hidden="true" />
      </form>
    </Dialog>
  );
}
