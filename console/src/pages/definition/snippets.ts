/** Sections to begin with. What the draft has already stays. */
import type { Definition } from '../../definition/changes';
import { valueAt, withValue } from '../../definition/draft';

export const SNIPPETS = {
  ready_http: { path: 'probes.ready', value: { http: { port: 8080, path: '/healthz' }, interval: 5, failures: 3 } },
  ready_tcp: { path: 'probes.ready', value: { tcp: { port: 8080 }, interval: 5 } },
  ready_exec: { path: 'probes.ready', value: { exec: 'test -e /run/ready', interval: 5 } },
  live_http: {
    path: 'probes.live',
    value: { http: { port: 8080, path: '/healthz' }, interval: 10, failures: 3, action: 'restart' },
  },
  after: {
    path: 'after',
    value: [{ process: 'db/postgres', when: 'ready', where: 'same_host', patience: 300 }],
  },
  restart: {
    path: 'restart',
    value: { delay: 1, factor: 2, delay_max: 60, jitter: 10, reset: 60, give_up: 'never' },
  },
  stop: { path: 'stop', value: { signals: ['SIGTERM'], grace: 20 } },
  schedule: {
    path: 'schedule',
    value: { missed: 'once', overlap: 'wait', jitter: 30, history: 20 },
  },
} as const;

export type Snippet = keyof typeof SNIPPETS;

export const isThere = (draft: Definition, snippet: Snippet) =>
  valueAt(draft.spec, SNIPPETS[snippet].path) !== undefined;

export function withSnippet(draft: Definition, snippet: Snippet): Definition {
  const { path, value } = SNIPPETS[snippet];
  let spec = withValue(draft.spec, path, value);
  // The rules of a schedule are for periodic processes.
  if (snippet === 'schedule' && valueAt(spec, 'monitor_policy.auto_type') !== 0) {
    spec = withValue(spec, 'monitor_policy.auto_type', 0);
    if (!valueAt(spec, 'monitor_policy.crontab_rule'))
      spec = withValue(spec, 'monitor_policy.crontab_rule', '*/15 * * * *');
  }
  return { ...draft, spec };
}
