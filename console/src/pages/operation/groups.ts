/** Failures grouped here, for a server that does not group them itself. */
import type { FailureGroup } from '../../api/types';
import type { ResultRow } from './source';

/** Sentences that differ only in numbers, addresses and paths are alike. */
export const alike = (message: string) =>
  message
    .replace(/\b\d+:\d+(\.\d+){3}\b|\b\d+(\.\d+){3}\b/g, '…')
    .replace(/(^|[\s'"(=])\/[^\s'",)]+/g, '$1…')
    .replace(/\d+/g, '…')
    .replace(/…([.:_-]?…)+/g, '…');

export const inGroup = (row: ResultRow, code: string, reason: string) =>
  row.status === 'failed' &&
  (code === '' || String(row.code) === code) &&
  (reason === '' || alike(row.message) === reason);

export function groupFailures(rows: ResultRow[]): FailureGroup[] {
  const groups = new Map<string, FailureGroup>();
  for (const row of rows) {
    if (row.status !== 'failed') continue;
    const reason = alike(row.message);
    const key = `${row.code} ${reason}`;
    const group = groups.get(key) ?? { code: row.code, reason, count: 0, hosts: [] };
    group.count++;
    if (group.hosts.length < 3 && !group.hosts.includes(row.host)) group.hosts.push(row.host);
    groups.set(key, group);
  }
  return [...groups.values()].sort((a, b) => b.count - a.count);
}
