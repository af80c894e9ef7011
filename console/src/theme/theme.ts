/** Light, dark, or as the system is. */
import { signal } from '@preact/signals';

export type Theme = 'system' | 'light' | 'dark';
const KEY = 'muster.theme';
const stored = typeof localStorage === 'undefined' ? null : localStorage.getItem(KEY);

export const theme = signal<Theme>(stored === 'light' || stored === 'dark' ? stored : 'system');

export function setTheme(chosen: Theme) {
  localStorage.setItem(KEY, chosen);
  theme.value = chosen;
  applyTheme();
}

export function applyTheme() {
  document.documentElement.dataset.theme = theme.value;
}
