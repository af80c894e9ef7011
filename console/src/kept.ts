/** A choice that this browser keeps. A change in one tab is a change in all. */
import { type Signal, signal } from '@preact/signals';

export function kept<T>(key: string, read: (stored: string | null) => T): Signal<T> {
  if (typeof document === 'undefined') return signal(read(null));
  const value = signal(read(localStorage.getItem(key)));
  // Other tabs hear of it; the one that stores it does not.
  addEventListener('storage', event => {
    if (event.key === key) value.value = read(event.newValue);
  });
  return value;
}
