/** A topology as text: JSON or YAML, one business or several. */
import { CORE_SCHEMA, load } from 'js-yaml';

export interface TopologyDocument {
  bk_biz_id: number;
  bk_biz_name?: string;
}

export function readTopology(text: string): TopologyDocument[] {
  // Only plain values: no dates, no tags.
  const read = load(text, { schema: CORE_SCHEMA }) as { businesses?: unknown } | null;
  if (typeof read !== 'object' || read === null) throw new Error('');
  const all = Array.isArray(read.businesses) ? read.businesses : [read];
  if (all.length === 0 || !all.every(one => typeof one?.bk_biz_id === 'number')) throw new Error('bk_biz_id');
  return all as TopologyDocument[];
}
