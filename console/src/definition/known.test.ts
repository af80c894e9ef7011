import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Keys, SPEC_KEYS, unknownKey } from './known';

interface Schema {
  $ref?: string;
  items?: Schema;
  properties?: Record<string, Schema>;
}

test('the table has the keys of the OpenAPI document', () => {
  const file = join(process.cwd(), '..', 'docs', 'openapi.json');
  const { schemas } = JSON.parse(readFileSync(file, 'utf8')).components as { schemas: Record<string, Schema> };
  const keysOf = (schema: Schema): Keys | null => {
    if (schema.$ref) return keysOf(schemas[schema.$ref.split('/').at(-1) ?? ''] ?? {});
    if (schema.items) return keysOf(schema.items);
    if (!schema.properties) return null;
    return Object.fromEntries(Object.entries(schema.properties).map(([key, inner]) => [key, keysOf(inner)]));
  };
  assert.deepEqual(SPEC_KEYS, keysOf(schemas.Spec ?? {}));
});

test('a key that no spec has is named, with those that there are', () => {
  assert.equal(unknownKey({ control: { start_cmd: 'a' }, runtime: { env: { ANY: 'x' } } }), null);
  assert.equal(unknownKey({ probez: {} })?.field, 'probez');
  assert.deepEqual(unknownKey({ stop: { signal: 'INT' } }), { field: 'stop.signal', known: ['grace', 'signals'] });
  assert.equal(unknownKey({ probes: { ready: { tcp: { prot: 1 } } } })?.field, 'probes.ready.tcp.prot');
  assert.equal(unknownKey({ after: [{ process: 'a/b' }, { proces: 'a/b' }] })?.field, 'after[1].proces');
});
