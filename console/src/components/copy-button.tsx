import { useState } from 'preact/hooks';
import { t } from '../i18n/common';
import { Button } from './button';

/** The clipboard API is missing on plain http to another machine; there a hidden field is copied the old way. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = document.createElement('textarea');
    field.value = text;
    field.className = 'visually-hidden';
    const parent = document.querySelector('dialog:modal') ?? document.body;
    parent.append(field);
    field.select();
    const done = document.execCommand('copy');
    field.remove();
    return done;
  }
}

interface CopyButtonProps {
  /** A function where making the text takes a request. */
  text: string | (() => Promise<string>);
  children?: string;
  label?: string;
}

export function CopyButton({ text, children, label }: CopyButtonProps) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    const copied = await copyText(typeof text === 'string' ? text : await text());
    setDone(copied);
    if (copied) setTimeout(() => setDone(false), 1500);
  };
  return (
    <Button
      size="small"
      kind="quiet"
      icon={done ? 'check' : 'copy'}
      {...(children ? {} : { label: label ?? t().copy })}
      onClick={copy}
    >
      {children && (done ? t().copied : children)}
    </Button>
  );
}
