/** Loads the editor when a component needs it, and mounts it in the shadow root of an element. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { language } from '../i18n/i18n';

type Module = typeof import('./codemirror');

interface Mounted<H> {
  host: { current: HTMLDivElement | null };
  /** Null until it is loaded. */
  handle: H | null;
  error: Error | null;
}

/** Mounts anew when one of `inputs` changes, or the language. */
export function useMounted<H extends { destroy(): void }>(
  mount: (module: Module, root: ShadowRoot) => H,
  inputs: unknown[],
): Mounted<H> {
  const host = useRef<HTMLDivElement>(null);
  const [handle, setHandle] = useState<H | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const latest = useRef(mount);
  latest.current = mount;
  useEffect(() => {
    let mounted: H | null = null;
    let gone = false;
    import('./codemirror').then(
      (module: Module | undefined) => {
        // Undefined where the chunk is gone and the page is about to be loaded again (main.tsx).
        if (!module || gone || !host.current) return;
        const root = host.current.shadowRoot ?? host.current.attachShadow({ mode: 'open' });
        mounted = latest.current(module, root);
        setHandle(mounted);
        setError(null);
      },
      (failed: Error) => setError(failed),
    );
    return () => {
      gone = true;
      mounted?.destroy();
      setHandle(null);
    };
  }, [language.value, ...inputs]);
  return { host, handle, error };
}
