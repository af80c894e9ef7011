import { useEffect, useRef } from 'preact/hooks';
import type { Kind } from './changes';
import { useLive } from './live';

/** Runs after changes of these kinds, at most every five seconds. */
export function useThrottled(kinds: Kind[], run: () => void, everyMs = 5000) {
  const timer = useRef<ReturnType<typeof setTimeout>>();
  const latest = useRef(run);
  latest.current = run;
  useLive({ kinds }, () => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined;
      latest.current();
    }, everyMs);
  });
  useEffect(() => () => clearTimeout(timer.current), []);
}
