import type { LastExit } from '../api/types';
import { bytes } from '../i18n/format';
import { t } from './strings';

export function exitWords(exit: LastExit | null | undefined): string {
  if (!exit) return '';
  if (exit.oom) {
    const known = [exit.memory_used, exit.memory_limit].filter(memory => typeof memory === 'number');
    return known.length > 0 ? `${t().exitOom} (${known.map(bytes).join(' / ')})` : t().exitOom;
  }
  if (exit.signal !== null && exit.signal !== undefined) return t().exitSignal(exit.signal);
  return t().exitCode(exit.code ?? 0);
}
