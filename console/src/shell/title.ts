import { useEffect } from 'preact/hooks';

/** The title of the tab, so that several tabs can be told apart. */
export function useTitle(title: string) {
  useEffect(() => {
    document.title = title ? `${title} · Muster` : 'Muster';
  }, [title]);
}
