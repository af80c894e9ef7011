/** Who is logged in, and the login that opens over a page when the session has ended. */
import { computed, signal } from '@preact/signals';
import type { Grant, WhoAmI } from './types';

export const me = signal<WhoAmI | null>(null);

/** The login is open over the page. */
export const loginOpen = signal(false);

/** Rises with each login, so that what a page shows is asked for again. */
export const loginCount = signal(0);

let waiting: (() => void)[] = [];

/** Resolves after the next login. */
export function loginAgain(abort?: AbortSignal | undefined): Promise<void> {
  loginOpen.value = true;
  return new Promise((resolve, reject) => {
    waiting.push(resolve);
    abort?.addEventListener('abort', () => reject(new DOMException('', 'AbortError')), { once: true });
  });
}

export function loggedIn(who: WhoAmI) {
  me.value = who;
  loginOpen.value = false;
  loginCount.value++;
  const resumed = waiting;
  waiting = [];
  for (const resume of resumed) resume();
}

const RANK: Record<string, number> = { viewer: 1, operator: 2, admin: 3 };

const grants = computed<Grant[]>(() => me.value?.user?.grants ?? []);

/** Whether the user has at least this role: everywhere, in this namespace, or (with nothing named) anywhere. */
export function may(
  role: 'viewer' | 'operator' | 'admin',
  where?: { namespace?: string; business?: number | null },
): boolean {
  return grants.value.some(grant => {
    if ((RANK[grant.role] ?? 0) < (RANK[role] ?? 9)) return false;
    if (grant.everything || !where) return true;
    // It is for some processes there, whose rows say what is blocked.
    if (grant.label) return false;
    if (where.namespace !== undefined && grant.namespaces.includes(where.namespace)) return true;
    return typeof where.business === 'number' && grant.businesses.includes(where.business);
  });
}

/** Whether the user has this role for everything. */
export const mayEverywhere = (role: 'viewer' | 'operator' | 'admin') =>
  grants.value.some(grant => grant.everything && (RANK[grant.role] ?? 0) >= (RANK[role] ?? 9));
