/** How two definitions differ, field by field. Pure. */

export interface Definition {
  spec: Record<string, unknown>;
  labels: Record<string, string>;
}

export interface FieldChange {
  field: string;
  /** As JSON; null where there is no such field. */
  before?: string | null;
  after?: string | null;
}

/** What is not set and what is empty are the same. */
function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined || value === '') return true;
  return typeof value === 'object' && Object.keys(value).length === 0;
}

function flatten(path: string, value: unknown, into: Map<string, string>) {
  if (isEmpty(value)) return;
  if (typeof value === 'object' && !Array.isArray(value))
    for (const [key, inner] of Object.entries(value as object)) flatten(path ? `${path}.${key}` : key, inner, into);
  else into.set(path, JSON.stringify(value));
}

function fieldsOf({ spec, labels }: Definition): Map<string, string> {
  const fields = new Map<string, string>();
  flatten('', spec, fields);
  for (const [key, value] of Object.entries(labels)) fields.set(`labels.${key}`, JSON.stringify(value));
  return fields;
}

/** In the order of their names. */
export function changesOf(before: Definition, after: Definition): FieldChange[] {
  const [old, now] = [fieldsOf(before), fieldsOf(after)];
  return [...new Set([...old.keys(), ...now.keys()])]
    .filter(field => old.get(field) !== now.get(field))
    .sort()
    .map(field => ({ field, before: old.get(field) ?? null, after: now.get(field) ?? null }));
}
