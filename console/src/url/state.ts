import { useCallback, useMemo } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { Codec } from './codec';

export type SetState<T> = (patch: Partial<T>, how?: 'push' | 'replace') => void;

/** The query of the address as an object, and a way to change some of it. Changes replace the entry of the history unless pushed. */
export function useUrlState<T>(codec: Codec<T>): [T, SetState<T>] {
  const { url, route } = useLocation();
  const search = url.includes('?') ? url.slice(url.indexOf('?')) : '';
  const state = useMemo(() => codec.read(search), [codec, search]);
  const set = useCallback<SetState<T>>(
    (patch, how = 'replace') => {
      // Not `state`: two changes may come before the next render.
      const now = codec.read(location.search);
      route(location.pathname + codec.write({ ...now, ...patch }), how === 'replace');
    },
    [codec, route],
  );
  return [state, set];
}
