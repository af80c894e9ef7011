import { useEffect, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { loginByCode } from '../../api/calls';
import { loggedIn } from '../../api/session';
import { Icon } from '../../components/icon';
import { Skeleton } from '../../components/states';
import { language, setLanguage } from '../../i18n/i18n';
import { LoginForm } from '../../shell/login-form';
import { t } from '../../shell/strings';
import { useTitle } from '../../shell/title';
import './login.css';
import { codeOf, safeNext } from './next';

export default function LoginPage() {
  const { query, route } = useLocation();
  const [code] = useState(() => codeOf(location.hash));
  const [used, setUsed] = useState(false);
  useTitle(t().login.title);
  // After the session knows who is logged in.
  const done = () => queueMicrotask(() => route(safeNext(query.next), true));

  useEffect(() => {
    if (!code) return;
    // It works once; it shall not stay in the history either.
    history.replaceState(null, '', location.pathname + location.search);
    loginByCode(code).then(
      who => {
        loggedIn(who);
        done();
      },
      () => setUsed(true),
    );
  }, []);

  return (
    <main class="login">
      <div class="login-card">
        <h1 class="login-title">
          <Icon name="logo" size={22} />
          {t().login.title}
        </h1>
        {used && (
          <p class="note note-warn" role="alert">
            {t().login.codeUsed}
          </p>
        )}
        {code && !used ? <Skeleton /> : <LoginForm onDone={done} />}
      </div>
      <button type="button" class="login-language" onClick={() => setLanguage(language.value === 'zh' ? 'en' : 'zh')}>
        <Icon name="language" size={14} />
        {language.value === 'zh' ? 'English' : '中文'}
      </button>
    </main>
  );
}
