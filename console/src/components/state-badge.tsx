import { progressWord, stateWord } from '../i18n/common';
import { Icon, type IconName } from './icon';
import './state-badge.css';

/** How a state looks: never by colour alone. The order is that of bars: good first, worst last. */
export const STATE_LOOK: Record<string, { tone: Tone; icon: IconName }> = {
  ready: { tone: 'good', icon: 'tick' },
  running: { tone: 'good', icon: 'dot' },
  completed: { tone: 'good', icon: 'tick' },
  scheduled: { tone: 'plan', icon: 'clock' },
  starting: { tone: 'info', icon: 'spinner' },
  stopped: { tone: 'idle', icon: 'ring' },
  unregistered: { tone: 'idle', icon: 'question' },
  unknown: { tone: 'idle', icon: 'question' },
  unhealthy: { tone: 'warn', icon: 'warning' },
  backoff: { tone: 'warn', icon: 'restart' },
  failed: { tone: 'bad', icon: 'cross' },
};

export type Tone = 'good' | 'warn' | 'bad' | 'info' | 'plan' | 'idle';

export const STATES = Object.keys(STATE_LOOK);

export const toneOf = (state: string): Tone => STATE_LOOK[state]?.tone ?? 'idle';

export function StateBadge({ state, was }: { state: string; was?: string | null | undefined }) {
  const look = STATE_LOOK[state] ?? STATE_LOOK.unknown!;
  return (
    <span class={`state tone-${look.tone}`}>
      <Icon name={look.icon} size={13} />
      <span class="ellipsis">
        {stateWord(state)}
        {was && <span class="muted"> ({stateWord(was)})</span>}
      </span>
    </span>
  );
}

const PROGRESS_LOOK: Record<string, { tone: Tone; icon: IconName }> = {
  pending: { tone: 'idle', icon: 'clock' },
  running: { tone: 'info', icon: 'spinner' },
  paused: { tone: 'warn', icon: 'pause' },
  finished: { tone: 'good', icon: 'tick' },
  succeeded: { tone: 'good', icon: 'tick' },
  ok: { tone: 'good', icon: 'tick' },
  already: { tone: 'good', icon: 'tick' },
  failed: { tone: 'bad', icon: 'cross' },
  ignored: { tone: 'idle', icon: 'ring' },
  cancelled: { tone: 'idle', icon: 'ring' },
};

export function ProgressBadge({ state, text }: { state: string; text?: string }) {
  const look = PROGRESS_LOOK[state] ?? { tone: 'idle' as const, icon: 'question' as const };
  return (
    <span class={`state tone-${look.tone}`}>
      <Icon name={look.icon} size={13} />
      <span class="ellipsis">{text ?? progressWord(state)}</span>
    </span>
  );
}
