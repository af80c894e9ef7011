/** What a part of a page shows instead of data: nothing there, not there yet, could not be loaded. */
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { ApiError } from '../api/errors';
import { t } from '../i18n/common';
import { sentence } from '../i18n/reasons';
import { Button } from './button';
import { CopyButton } from './copy-button';
import { Icon, type IconName } from './icon';
import './states.css';

interface EmptyProps {
  icon?: IconName;
  title: string;
  children?: ComponentChildren;
  action?: ComponentChildren;
  /** It is all that the page shows. */
  whole?: boolean;
}

export function Empty({ icon = 'search', title, children, action, whole }: EmptyProps) {
  return (
    <div class="placeholder">
      <Icon name={icon} size={28} />
      {whole ? <h1 class="placeholder-title">{title}</h1> : <p class="placeholder-title">{title}</p>}
      {children && <div class="placeholder-text">{children}</div>}
      {action && <div class="line">{action}</div>}
    </div>
  );
}

/** Grey lines, shown only when loading takes longer than 200 ms. */
export function Skeleton({ lines = 3 }: { lines?: number }) {
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 200);
    return () => clearTimeout(timer);
  }, []);
  if (!late) return <div class="skeleton-wait" />;
  return (
    <div class="skeleton" role="status" aria-label={t().loading}>
      {Array.from({ length: lines }, (_, index) => (
        <span key={index} class={`skeleton-line skeleton-${index % 3}`} />
      ))}
    </div>
  );
}

export function errorText(error: Error): string {
  if (error instanceof ApiError) {
    if (error.status === 0) return t().errors.network;
    if (error.missingRole) {
      const { role, namespace, business } = error.missingRole;
      const words = t().errors;
      const where = namespace ? words.inNamespace(namespace) : business ? words.inBusiness(business) : '';
      return words.missingRole(role, where);
    }
  }
  return error instanceof ApiError ? sentence(error.reason, error.message) : error.message;
}

export function ErrorBox({ error, retry, title }: { error: Error; retry?: (() => void) | undefined; title?: string }) {
  const id = error instanceof ApiError ? error.requestId : null;
  return (
    <div class="error-box" role="alert">
      <Icon name="error" size={18} />
      <div class="grow">
        <p class="error-title">{title ?? t().errors.title}</p>
        <p>{errorText(error)}</p>
        {id && (
          <p class="error-id">
            {t().requestId} <code>{id}</code> <CopyButton text={id} />
          </p>
        )}
      </div>
      {retry && (
        <Button icon="reload" size="small" onClick={retry}>
          {t().retry}
        </Button>
      )}
    </div>
  );
}

/** One of the three, or the data. */
export function Loaded<T>({
  data,
  error,
  reload,
  lines,
  children,
}: {
  data: T | null;
  error: Error | null;
  reload?: () => void;
  lines?: number;
  children: (data: T) => ComponentChildren;
}) {
  if (data !== null)
    return (
      <>
        {error && <ErrorBox error={error} retry={reload} />}
        {children(data)}
      </>
    );
  if (error) return <ErrorBox error={error} retry={reload} />;
  return <Skeleton lines={lines ?? 3} />;
}
