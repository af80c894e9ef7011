/** The login that opens over a page when the session has ended. Everything under it stays. */
import { loginOpen, me } from '../api/session';
import { Dialog } from '../components/dialog';
import { reconnectNow } from '../live/live';
import { LoginForm } from './login-form';
import { t } from './strings';

export function LoginOver() {
  if (!loginOpen.value) return null;
  const before = me.value?.user?.name;
  return (
    <Dialog title={t().login.again} onClose={() => {}} stays>
      <p class="muted login-again">{t().login.againText}</p>
      <LoginForm
        user={before}
        onDone={who => {
          // What another user may see is different.
          if (before && who.user?.name !== before) location.reload();
          reconnectNow();
        }}
      />
    </Dialog>
  );
}
