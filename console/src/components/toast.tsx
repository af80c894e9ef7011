/** Short messages in the corner. One that follows an operation stays until it is closed or has succeeded for a while. */
import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { t } from '../i18n/common';
import { Button } from './button';
import { Icon } from './icon';
import './toast.css';

interface Toast {
  id: number;
  tone: 'info' | 'good' | 'bad';
  content: () => ComponentChildren;
}

const toasts = signal<Toast[]>([]);
let last = 0;

/** Returns a function that closes it. `forMs` 0: it stays. */
export function toast(content: () => ComponentChildren, tone: Toast['tone'] = 'info', forMs = 6000): () => void {
  const id = ++last;
  toasts.value = [...toasts.value.slice(-3), { id, tone, content }];
  const close = () => {
    toasts.value = toasts.value.filter(one => one.id !== id);
  };
  if (forMs > 0) setTimeout(close, forMs);
  return close;
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ id, tone, content: Content }) => (
        <div key={id} class={`toast toast-${tone}`}>
          <Icon name={tone === 'good' ? 'tick' : tone === 'bad' ? 'error' : 'info'} />
          <div class="grow">
            <Content />
          </div>
          <Button
            kind="quiet"
            size="small"
            icon="close"
            label={t().close}
            onClick={() => {
              toasts.value = toasts.value.filter(one => one.id !== id);
            }}
          />
        </div>
      ))}
    </div>
  );
}
