/** User and password. Used by the login page and by the login that opens over a page. */
import { useId, useState } from 'preact/hooks';
import { login } from '../api/calls';
import { ApiError } from '../api/errors';
import { loggedIn } from '../api/session';
import type { WhoAmI } from '../api/types';
import { Button } from '../components/button';
import { errorText } from '../components/states';
import '../components/field.css';
import { t } from './strings';

export function LoginForm({ user, onDone }: { user?: string | undefined; onDone?: (who: WhoAmI) => void }) {
  const [name, setName] = useState(user ?? '');
  const [password, setPassword] = useState('');
  const [error, setError] = useState<Error | null>(null);
  const [busy, setBusy] = useState(false);
  const id = useId();
  const words = t().login;

  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      const who = await login(name, password);
      onDone?.(who);
      loggedIn(who);
    } catch (refused) {
      setPassword('');
      setError(refused as Error);
    } finally {
      setBusy(false);
    }
  };

  return (
    <form class="login-form" onSubmit={submit}>
      <div class="field">
        <label for={`${id}-user`}>{words.user}</label>
        <input
          id={`${id}-user`}
          class="input"
          name="username"
          autocomplete="username"
          required
          autofocus={!user}
          value={name}
          onInput={event => setName(event.currentTarget.value)}
        />
      </div>
      <div class="field">
        <label for={`${id}-password`}>{words.password}</label>
        <input
          id={`${id}-password`}
          class="input"
          name="password"
          type="password"
          autocomplete="current-password"
          required
          autofocus={Boolean(user)}
          value={password}
          onInput={event => setPassword(event.currentTarget.value)}
        />
      </div>
      {error && (
        <p class="note note-bad" role="alert">
          {refusalText(error)}
        </p>
      )}
      <Button type="submit" kind="primary" busy={busy}>
        {words.submit}
      </Button>
    </form>
  );
}

function refusalText(error: Error): string {
  if (error instanceof ApiError) {
    if (error.status === 401) return t().login.wrong;
    if (error.status === 429) return t().login.slow(Math.ceil((error.retryAfterMs ?? 1000) / 1000));
  }
  return errorText(error);
}
