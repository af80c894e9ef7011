/** Loads data for a component. What was loaded stays until the next answer comes; a new login or a lost stream loads again. */
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { live } from '../live/live';
import { isAbort, isAway } from './errors';
import { loginCount } from './session';

export interface Data<T> {
  data: T | null;
  error: Error | null;
  loading: boolean;
  reload(): void;
  /** Replaces what is shown, for live changes. */
  patch(change: (data: T) => T): void;
}

/** `key` names what is loaded: another key loads again, null loads nothing. */
export function useData<T>(key: string | null, load: (signal: AbortSignal) => Promise<T>): Data<T> {
  const [state, setState] = useState<{ key: string | null; data: T | null; error: Error | null; loading: boolean }>({
    key: null,
    data: null,
    error: null,
    loading: key !== null,
  });
  const [turn, setTurn] = useState(0);
  const loader = useRef(load);
  loader.current = load;
  const epoch = live.epoch.value + loginCount.value;

  useEffect(() => {
    if (key === null) return;
    const abort = new AbortController();
    setState(old => ({ ...old, loading: true }));
    loader.current(abort.signal).then(
      data => !abort.signal.aborted && setState({ key, data, error: null, loading: false }),
      error => {
        if (abort.signal.aborted || isAbort(error)) return;
        setState(old => ({ key, data: old.key === key ? old.data : null, error, loading: false }));
      },
    );
    return () => abort.abort();
  }, [key, turn, epoch]);

  const reload = useCallback(() => setTurn(n => n + 1), []);
  useWhenBack(state.error, reload);
  const patch = useCallback(
    (change: (data: T) => T) => setState(old => (old.data ? { ...old, data: change(old.data) } : old)),
    [],
  );
  return { data: state.data, error: state.error, loading: state.loading, reload, patch };
}

/** What could not be asked for while the server was away is asked for when it is back. */
export function useWhenBack(error: Error | null, reload: () => void) {
  const isLive = live.state.value === 'live';
  useEffect(() => {
    if (isLive && isAway(error)) reload();
  }, [isLive]);
}
