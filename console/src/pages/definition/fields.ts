/** The fields that the form has. Everything else of a spec is under JSON. */

export interface FieldShape {
  /** Below its section. */
  key: string;
  /** `words`: a list with commas. `command`: as wide as the form. */
  kind: 'text' | 'command' | 'number' | 'words' | 'choice';
  /** What counts where it is empty. */
  fallback?: string;
  choices?: readonly string[];
  /** Stays when it is emptied: without it there would be no probe or dependency any more. */
  stays?: boolean;
}

export interface SectionShape {
  path: string;
  fields: readonly FieldShape[];
}

const number = (key: string, fallback?: string): FieldShape => ({
  key,
  kind: 'number',
  ...(fallback ? { fallback } : {}),
});
const text = (key: string, fallback?: string): FieldShape => ({ key, kind: 'text', ...(fallback ? { fallback } : {}) });
const command = (key: string, fallback?: string): FieldShape => ({
  key,
  kind: 'command',
  ...(fallback ? { fallback } : {}),
});

const stays = (shape: FieldShape): FieldShape => ({ ...shape, stays: true });

export const COMMANDS: SectionShape = {
  path: 'control',
  fields: [
    command('start_cmd'),
    command('stop_cmd', 'SIGTERM'),
    command('restart_cmd'),
    command('reload_cmd', 'SIGHUP'),
    command('kill_cmd', 'SIGKILL'),
    command('health_cmd'),
    command('version_cmd'),
  ],
};

export const IDENTITY: SectionShape = {
  path: 'identity',
  fields: [
    text('proc_name'),
    text('user'),
    text('setup_path'),
    text('pid_path'),
    text('log_path'),
    text('config_path'),
  ],
};

export const POLICY: SectionShape = {
  path: 'monitor_policy',
  fields: [
    { key: 'auto_type', kind: 'choice', choices: ['1', '0', '2'] },
    text('crontab_rule'),
    number('start_check_secs', '5'),
    number('stop_check_secs', '0'),
    number('start_interval', '10'),
    number('start_retries', '4'),
    number('op_timeout', '60'),
  ],
};

export const RESTART: SectionShape = {
  path: 'restart',
  fields: [
    number('delay', 'start_interval'),
    number('factor', '2'),
    number('delay_max', '300'),
    number('jitter', '10'),
    number('reset', '60'),
    number('give_up', 'start_retries'),
  ],
};

export const STOP: SectionShape = {
  path: 'stop',
  fields: [{ key: 'signals', kind: 'words', fallback: 'SIGTERM' }, number('grace', '10')],
};

export const SCHEDULE: SectionShape = {
  path: 'schedule',
  fields: [
    { key: 'missed', kind: 'choice', choices: ['', 'skip', 'once'], fallback: 'skip' },
    { key: 'overlap', kind: 'choice', choices: ['', 'skip', 'wait', 'kill'], fallback: 'skip' },
    number('jitter', '0'),
    number('history'),
  ],
};

export const PROBE_TARGETS = ['exec', 'tcp', 'http'] as const;
export type ProbeTarget = (typeof PROBE_TARGETS)[number];

/** What a probe tries; the keys are below the probe. */
export const PROBE_TARGET: Record<ProbeTarget, readonly FieldShape[]> = {
  exec: [stays(command('exec'))],
  tcp: [stays(number('tcp.port')), text('tcp.host', '127.0.0.1')],
  http: [
    stays(number('http.port')),
    stays(text('http.path', '/healthz')),
    text('http.host', '127.0.0.1'),
    { key: 'http.status', kind: 'words', fallback: '200-399' },
    text('http.body'),
  ],
};

export const probeFigures = (kind: 'ready' | 'live'): readonly FieldShape[] => [
  number('interval', '10'),
  number('timeout', '5'),
  number('successes', '1'),
  number('failures', '3'),
  number('delay', '0'),
  {
    key: 'action',
    kind: 'choice',
    choices: ['', 'none', 'event', 'restart'],
    fallback: kind === 'ready' ? 'event' : 'restart',
  },
];

export const DEPENDENCY: readonly FieldShape[] = [
  stays(text('process')),
  { key: 'when', kind: 'choice', choices: ['', 'ready', 'up', 'exited_ok'], fallback: 'ready' },
  { key: 'where', kind: 'choice', choices: ['', 'same_host', 'any', 'all'], fallback: 'same_host' },
  number('patience'),
];
