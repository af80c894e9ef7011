import { may } from '../api/session';
import type { Operation } from '../api/types';
import { reasonWord } from '../i18n/common';
import type { ViewProcess } from './api';
import { jobAction } from './jobs';

/** Why an action of a job cannot be asked for, or null. */
export function jobBlocked(row: ViewProcess, op: Operation): string | null {
  const reason = row.blocked?.[jobAction(op)];
  if (reason) return reasonWord(reason);
  return may('operator', { business: row.business, namespace: `GSEKIT_BIZ_${row.business}` })
    ? null
    : reasonWord('role');
}

/** The namespace of a business decides, too. */
export const mayOperate = (business: number) => may('operator', { business, namespace: `GSEKIT_BIZ_${business}` });
