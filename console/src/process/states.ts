/** The states of a process, in the order of the documentation. */
export const PROCESS_STATES = [
  'running',
  'ready',
  'starting',
  'unhealthy',
  'backoff',
  'failed',
  'stopped',
  'completed',
  'scheduled',
  'unknown',
];
