/** Times: local in words, exact with UTC in the title. One timer for the whole page keeps ages right. */
import { signal } from '@preact/signals';
import { t } from '../i18n/common';
import { dateTime, duration, shortDuration, utc } from '../i18n/format';

/** Now, to ten seconds. */
export const now = signal(Date.now());
if (typeof document !== 'undefined') {
  setInterval(() => {
    if (!document.hidden) now.value = Date.now();
  }, 10_000);
}

const machine = (at: number) => new Date(at).toISOString();
const title = (at: number) => `${dateTime(at)} · ${utc(at)}`;

/** "3 d ago" */
export function Ago({ at }: { at: number }) {
  if (!at) return <span class="muted">{t().never}</span>;
  return (
    <time dateTime={machine(at)} title={title(at)}>
      {t().ago(shortDuration(Math.max(0, now.value - at)))}
    </time>
  );
}

/** How long it has lasted: "3d" */
export function Since({ at, long }: { at: number; long?: boolean }) {
  if (!at) return null;
  const lasted = Math.max(0, Math.max(now.value, Date.now()) - at);
  return (
    <time dateTime={machine(at)} title={title(at)}>
      {long ? duration(lasted) : shortDuration(lasted)}
    </time>
  );
}

export function Time({ at }: { at: number }) {
  if (!at) return <span class="muted">{t().never}</span>;
  return (
    <time dateTime={machine(at)} title={utc(at)}>
      {dateTime(at)}
    </time>
  );
}
