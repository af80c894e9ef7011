/** Applies live changes to rows of processes. */
import type { Process } from '../api/types';
import type { AgentChange, StatusChange } from '../live/changes';

export function applyStatus(row: Process, change: StatusChange): Process {
  return {
    ...row,
    state: change.state,
    was: change.state === 'unknown' ? row.was : null,
    next_at: change.next_at,
    restarts: change.restarts,
    last_exit: change.last_exit,
    restart_needed: change.restart_needed,
    pid: change.pid,
    message: change.message,
    reported_at: change.at,
    managed: change.managed ?? row.managed,
    flag: change.wanted ?? row.flag,
    started_at: change.started_at ?? row.started_at,
    cpu: change.cpu ?? row.cpu,
    mem: change.mem ?? row.mem,
    // Agents that report are there.
    connected: change.state === 'unknown' ? row.connected : true,
    reason: change.state === row.state ? row.reason : null,
    // The reasons of the row were those of its old state.
    blocked: withoutHints(row.blocked),
  };
}

/** The state of a process is unknown while its agent is away. */
export function applyAgent(row: Process, change: AgentChange): Process {
  if (change.connected) return { ...row, connected: true, state: row.was ?? row.state, was: null };
  if (row.state === 'unknown') return { ...row, connected: false };
  return { ...row, connected: false, state: 'unknown', was: row.state };
}

function withoutHints(blocked: Record<string, string> | undefined): Record<string, string> {
  return Object.fromEntries(Object.entries(blocked ?? {}).filter(([, reason]) => !reason.startsWith('already_')));
}
