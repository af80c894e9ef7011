import { useLocation } from 'preact-iso';
import { Icon } from '../../components/icon';
import { language, setLanguage } from '../../i18n/i18n';
import { LoginForm } from '../../shell/login-form';
import { t } from '../../shell/strings';
import { useTitle } from '../../shell/title';
import { safeNext } from './next';
import './login.css';

export default function LoginPage() {
  const { query, route } = useLocation();
  useTitle(t().login.title);
  return (
    <main class="login">
      <div class="login-card">
        <h1 class="login-title">
          <Icon name="logo" size={22} />
          {t().login.title}
        </h1>
        {/* After the session knows who is logged in. */}
        <LoginForm onDone={() => queueMicrotask(() => route(safeNext(query.next), true))} />
      </div>
      <button type="button" class="login-language" onClick={() => setLanguage(language.value === 'zh' ? 'en' : 'zh')}>
        <Icon name="language" size={14} />
        {language.value === 'zh' ? 'English' : '中文'}
      </button>
    </main>
  );
}
