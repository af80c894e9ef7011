/** The login that opens over a page when the session has ended. Everything under it stays. */
import { useEffect } from 'preact/hooks';
import { whoAmI } from '../api/calls';
import { loggedIn, loginOpen, me } from '../api/session';
import type { WhoAmI } from '../api/types';
import { Dialog } from '../components/dialog';
import { live, reconnectNow } from '../live/live';
import { LoginForm } from './login-form';
import { t } from './strings';

export function LoginOver() {
  const before = me.value?.user?.name;
  // What another user may see is different.
  const isOther = (who: WhoAmI) => before !== undefined && who.user?.name !== before;
  const isLive = live.state.value === 'live';
  useEffect(() => {
    if (!isLive || !loginOpen.value) return;
    // The user has logged in in another tab.
    whoAmI().then(
      who => (isOther(who) ? location.reload() : loggedIn(who)),
      () => {},
    );
  }, [isLive]);
  if (!loginOpen.value) return null;
  return (
    <Dialog title={t().login.again} onClose={() => {}} stays>
      <p class="muted login-again">{t().login.againText}</p>
      <LoginForm
        user={before}
        onDone={who => {
          if (isOther(who)) location.reload();
          reconnectNow();
        }}
      />
    </Dialog>
  );
}
