import type { LastExit } from '../api/types';
import { t } from './strings';

export function exitWords(exit: LastExit | null | undefined): string {
  if (!exit) return '';
  if (exit.oom) return t().exitOom;
  if (exit.signal !== null && exit.signal !== undefined) return t().exitSignal(exit.signal);
  return t().exitCode(exit.code ?? 0);
}
