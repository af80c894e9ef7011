/** The messages between a tab and the worker. */

import type { SlotState } from '../logs/slots';
import type { Change, Interest } from './changes';
import type { LiveState } from './stream';

export type ToWorker =
  | { type: 'interests'; interests: Interest[] }
  | { type: 'visible'; visible: boolean }
  /** To follow an output: if there is room, or in place of the oldest; and to end that. The tab chooses the id. */
  | { type: 'follow'; id: number; how: 'ask' | 'take' | 'leave' }
  /** Connect now. */
  | { type: 'again' }
  | { type: 'alive' }
  | { type: 'bye' };

export type ToTab =
  | { type: 'changes'; changes: Change[] }
  | { type: 'state'; state: LiveState }
  | { type: 'follow'; id: number; state: SlotState }
  | { type: 'missed' };

/** At most so often does a tab get a message with changes. */
export const TAB_EVERY_MS = 100;
/** A tab says that it is there; browsers may delay the timers of hidden tabs to one a minute. */
export const ALIVE_EVERY_MS = 30_000;
export const GONE_AFTER_MS = 200_000;
