// Writes src/api/schema.ts, the types of the native API, from the OpenAPI document. `npm run check` runs it first; the build needs no types.
import { readFile, writeFile } from 'node:fs/promises';
import openapi, { astToString } from 'openapi-typescript';

const document = JSON.parse(await readFile(new URL('../../docs/openapi.json', import.meta.url), 'utf8'));
for (const path of Object.keys(document.paths)) if (!path.startsWith('/api/v1/')) delete document.paths[path];
const keep = new Set();
const visit = node => {
  if (Array.isArray(node)) node.forEach(visit);
  else if (node && typeof node === 'object')
    for (const [key, value] of Object.entries(node)) {
      const name = key === '$ref' && value.startsWith('#/components/schemas/') && value.slice(21);
      if (name && !keep.has(name)) {
        keep.add(name);
        visit(document.components.schemas[name]);
      } else visit(value);
    }
};
visit(document.paths);
for (const name of Object.keys(document.components.schemas))
  if (!keep.has(name)) delete document.components.schemas[name];
const header = '// Made from docs/openapi.json by `npm run types`. Do not edit.\n\n';
await writeFile(new URL('../src/api/schema.ts', import.meta.url), header + astToString(await openapi(document)));
