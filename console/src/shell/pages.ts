/** The pages in the navigation. A page without an entry here is reached by links only. */
import type { IconName } from '../components/icon';
import { paths } from '../url/paths';
import type { t } from './strings';

export interface NavPage {
  key: keyof ReturnType<typeof t>['nav'];
  icon: IconName;
  href: () => string;
  /** After `g`. */
  letter: string;
  /** Addresses that belong to it. */
  owns: RegExp;
  needs?: 'admin';
}

export const NAV: NavPage[] = [
  { key: 'overview', icon: 'overview', href: paths.overview, letter: 'g', owns: /^\/ui\/?$/ },
  { key: 'processes', icon: 'processes', href: paths.processes, letter: 'p', owns: /^\/ui\/(processes|p\/)/ },
  { key: 'businesses', icon: 'businesses', href: paths.businesses, letter: 'b', owns: /^\/ui\/b(\/|$)/ },
  { key: 'hosts', icon: 'hosts', href: paths.hosts, letter: 'h', owns: /^\/ui\/hosts/ },
  { key: 'operations', icon: 'operations', href: paths.ops, letter: 'o', owns: /^\/ui\/ops/ },
  { key: 'events', icon: 'events', href: paths.events, letter: 'e', owns: /^\/ui\/events/ },
  { key: 'admin', icon: 'admin', href: () => paths.admin(), letter: 'a', owns: /^\/ui\/admin/, needs: 'admin' },
];
