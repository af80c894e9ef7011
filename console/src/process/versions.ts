/** Which hosts have which version. */
import { count } from '../i18n/format';
import { t } from './strings';

export interface VersionCount {
  /** Null where it is no longer kept. */
  spec_version?: number | null;
  hosts: number;
  /** Of an update: new, old or other. */
  has?: string;
}

/** `38 of 40 hosts have version 7 (new), 2 have version 6 (old)`, the most frequent first. */
export function versionsText(versions: VersionCount[]): string {
  const words = t();
  const total = versions.reduce((sum, one) => sum + one.hosts, 0);
  return [...versions]
    .sort((a, b) => b.hosts - a.hosts)
    .map((one, n) => {
      const number = one.spec_version ? words.specVersion(one.spec_version) : words.versionGone;
      const note = one.has ? ` (${words.has[one.has as keyof typeof words.has] ?? one.has})` : '';
      const hosts = n === 0 ? words.ofHosts(count(one.hosts), count(total)) : count(one.hosts);
      return words.hostsHave(hosts, `${number}${note}`);
    })
    .join(', ');
}
