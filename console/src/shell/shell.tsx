/** What is around every page: navigation, finding, whether it is live, the user. */
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { logout } from '../api/calls';
import { may, me } from '../api/session';
import { Button } from '../components/button';
import { Icon } from '../components/icon';
import { Menu } from '../components/menu';
import { Toasts } from '../components/toast';
import { language, setLanguage } from '../i18n/i18n';
import { useKeys } from '../keys/keys';
import { reconnectNow } from '../live/live';
import { OperateHost } from '../operate/host';
import { setTheme, theme } from '../theme/theme';
import { paths } from '../url/paths';
import { Help, helpOpen } from './help';
import { LiveBar, LiveMark } from './live-bar';
import { NAV } from './pages';
import { Palette, paletteOpen } from './palette';
import './shell.css';
import { t } from './strings';

export function Shell({ children }: { children: ComponentChildren }) {
  const { route, path } = useLocation();
  const [navOpen, setNavOpen] = useState(false);
  const words = t();
  const pages = NAV.filter(page => !page.needs || may(page.needs));

  useEffect(() => {
    setNavOpen(false);
    // The link that led here may be gone; the keyboard goes on at the content.
    if (document.activeElement === document.body) document.getElementById('content')?.focus({ preventScroll: true });
  }, [path]);

  useKeys(words.keysEverywhere, {
    ...Object.fromEntries(
      pages.map(page => [`g ${page.letter}`, { label: words.go(words.nav[page.key]), run: () => route(page.href()) }]),
    ),
    'Ctrl+k': {
      label: words.findAnything,
      run: () => {
        paletteOpen.value = true;
      },
    },
    '?': {
      label: words.help,
      run: () => {
        helpOpen.value = true;
      },
    },
  });

  return (
    <div class="shell">
      <a class="skip" href="#content">
        {words.skip}
      </a>
      <header class="top">
        <Button
          class="top-menu"
          kind="quiet"
          icon="menu"
          label={words.menu}
          expanded={navOpen}
          onClick={() => setNavOpen(!navOpen)}
        />
        <a class="brand" href={paths.overview()}>
          <Icon name="logo" size={18} />
          <span>Muster</span>
        </a>
        <button
          type="button"
          class="find"
          title={words.findAnything}
          onClick={() => {
            paletteOpen.value = true;
          }}
        >
          <Icon name="search" size={14} />
          <span class="ellipsis">{words.findAnything}</span>
          <kbd data-keys="Ctrl K" />
        </button>
        <LiveMark />
        <UserMenu />
      </header>
      <nav class={`nav ${navOpen ? 'nav-open' : ''}`} aria-label={words.nav.label}>
        <ul>
          {pages.map(page => (
            <li key={page.key}>
              <a href={page.href()} aria-current={page.owns.test(path) ? 'page' : undefined}>
                <Icon name={page.icon} />
                <span>{words.nav[page.key]}</span>
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <main class="content" id="content" tabIndex={-1}>
        <LiveBar />
        {children}
      </main>
      <Palette />
      <Help />
      <OperateHost />
      <Toasts />
    </div>
  );
}

function UserMenu() {
  const words = t();
  const leave = async () => {
    await logout().catch(() => {});
    // The other tabs learn of it when their stream is refused.
    reconnectNow();
    location.assign(paths.login());
  };
  return (
    <Menu
      kind="quiet"
      icon="user"
      side="right"
      label={`${words.user}: ${me.value?.user?.name ?? ''}`}
      class="user-menu"
      items={[
        {
          section: words.language,
          label: 'English',
          checked: language.value === 'en',
          onSelect: () => setLanguage('en'),
        },
        { label: '中文', checked: language.value === 'zh', onSelect: () => setLanguage('zh') },
        ...(['system', 'light', 'dark'] as const).map((one, index) => ({
          ...(index === 0 ? { section: words.theme } : {}),
          label: words.themes[one],
          checked: theme.value === one,
          onSelect: () => setTheme(one),
        })),
        {
          section: '',
          label: words.keys,
          icon: 'keyboard',
          onSelect: () => {
            helpOpen.value = true;
          },
        },
        { label: words.settings, icon: 'user', href: paths.me() },
        { label: words.logout, icon: 'logout', onSelect: leave },
      ]}
    >
      <span class="user-name">{me.value?.user?.name}</span>
    </Menu>
  );
}
