import './theme/tokens.css';
import './theme/base.css';
import { effect } from '@preact/signals';
import { render } from 'preact';
import { App } from './app';
import { language } from './i18n/i18n';
import { startKeys } from './keys/keys';
import { applyTheme } from './theme/theme';

effect(applyTheme);
effect(() => {
  document.documentElement.lang = language.value === 'zh' ? 'zh-CN' : 'en';
});
startKeys();

// A chunk that is gone: the server was updated, or a replica of another version answered. Load the new page, once.
addEventListener('vite:preloadError', event => {
  const key = 'muster.reloaded';
  if (Date.now() - Number(sessionStorage.getItem(key) ?? 0) < 60_000) return;
  sessionStorage.setItem(key, String(Date.now()));
  event.preventDefault();
  location.reload();
});

const root = document.getElementById('app');
if (root) render(<App />, root);
