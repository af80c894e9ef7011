/** Light, dark, or as the system is. */
import { kept } from '../kept';

export type Theme = 'system' | 'light' | 'dark';
const KEY = 'muster.theme';

export const theme = kept<Theme>(KEY, stored => (stored === 'light' || stored === 'dark' ? stored : 'system'));

export function setTheme(chosen: Theme) {
  localStorage.setItem(KEY, chosen);
  theme.value = chosen;
}

export function applyTheme() {
  document.documentElement.dataset.theme = theme.value;
}
