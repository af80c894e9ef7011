/**
 * The keys of a spec. The API ignores an unknown one within a spec; in one that is written by hand it is a typing error. Pure.
 * A test compares the table with the OpenAPI document.
 */

export interface Keys {
  /** Null: a value, or a map with keys of its own. */
  [key: string]: Keys | null;
}

const keys = (names: string): Keys => Object.fromEntries(names.split(' ').map(name => [name, null]));

const POLICY = keys('auto_type crontab_rule op_timeout start_check_secs start_interval start_retries stop_check_secs');

const PROBE: Keys = {
  ...keys('action delay exec failures interval successes timeout'),
  tcp: keys('host port'),
  http: keys('body host path port status'),
};

export const SPEC_KEYS: Keys = {
  identity: keys('config_path index_key log_path pid_path proc_name setup_path user'),
  control: keys('health_cmd kill_cmd reload_cmd restart_cmd start_cmd stop_cmd version_cmd'),
  resource: keys('cpu disk fd mem net'),
  monitor_policy: POLICY,
  alive_monitor_policy: POLICY,
  warn_report_policy: keys('report_id'),
  configmap: keys('md5 path'),
  runtime: keys(
    'core cpu_max env fd_max log_bytes_max log_keep log_max_bytes memory_max net_max nice nofile nproc pids_max umask',
  ),
  restart: keys('delay delay_max factor give_up jitter reset'),
  stop: keys('grace signals'),
  schedule: keys('history jitter missed overlap'),
  probes: { ready: PROBE, live: PROBE },
  after: keys('patience process restart when where'),
};

export interface UnknownKey {
  /** Its path. */
  field: string;
  known: string[];
}

/** The first key that no spec has. */
export function unknownKey(value: unknown, known: Keys = SPEC_KEYS, path = ''): UnknownKey | null {
  if (Array.isArray(value)) return first(value.map((item, index) => unknownKey(item, known, `${path}[${index}]`)));
  if (typeof value !== 'object' || value === null) return null;
  return first(
    Object.entries(value).map(([key, inner]) => {
      const field = path === '' ? key : `${path}.${key}`;
      if (!Object.hasOwn(known, key)) return { field, known: Object.keys(known) };
      const below = known[key];
      return below ? unknownKey(inner, below, field) : null;
    }),
  );
}

const first = (found: (UnknownKey | null)[]) => found.find(one => one !== null) ?? null;
