/** Ctrl+K: find a page, a process, a host. */
import { signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { search } from '../api/calls';
import { may } from '../api/session';
import { Combobox, type Option } from '../components/combobox';
import { Dialog } from '../components/dialog';
import { paths } from '../url/paths';
import { NAV } from './pages';
import { t } from './strings';

export const paletteOpen = signal(false);

export function Palette() {
  return paletteOpen.value ? <OpenPalette /> : null;
}

function OpenPalette() {
  const { route } = useLocation();
  const [text, setText] = useState('');
  const [found, setFound] = useState<Option[]>([]);
  const close = () => {
    paletteOpen.value = false;
  };

  useEffect(() => {
    const word = text.trim();
    if (word === '') {
      setFound([]);
      return;
    }
    const abort = new AbortController();
    const timer = setTimeout(async () => {
      try {
        const answer = await search(word, abort.signal);
        const words = t();
        setFound([
          ...answer.processes.map(name => ({ value: paths.process(name), label: name, note: words.process })),
          ...answer.namespaces.map(name => ({
            value: paths.processes({ ns: name }),
            label: name,
            note: words.namespace,
          })),
          ...answer.hosts.map(({ host, hostname }) => ({
            value: paths.host(host),
            label: hostname ? `${hostname} · ${host}` : host,
            note: words.host,
          })),
        ]);
      } catch {
        setFound([]);
      }
    }, 120);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [text]);

  const pages = NAV.filter(page => !page.needs || may(page.needs))
    .map(page => ({ value: page.href(), label: t().nav[page.key], note: t().page }))
    .filter(page => page.label.toLowerCase().includes(text.trim().toLowerCase()));
  const asFilter: Option[] = text.trim()
    ? [{ value: paths.processes({ q: text.trim() }), label: `${t().nav.processes}: ${text.trim()}`, note: t().filter }]
    : [];
  const options = [...pages, ...found, ...asFilter];

  return (
    <Dialog title={t().findAnything} onClose={close} class="palette">
      <Combobox
        label={t().findAnything}
        placeholder={t().findAnything}
        value={text}
        onInput={setText}
        options={options}
        eager
        alwaysOpen
        autofocus
        onChoose={option => {
          const chosen = option ?? options[0];
          if (!chosen) return;
          close();
          route(chosen.value);
        }}
      />
    </Dialog>
  );
}
