// Bundles src/**/*.test.ts with the esbuild of Vite and runs them with node:test, because node 18 reads no TypeScript.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const tests = readdirSync(join(root, 'src'), { recursive: true })
  .map(String)
  .filter(
    file =>
      /\.test\.tsx?$/.test(file) &&
      (process.argv.length < 3 || process.argv.slice(2).some(word => file.includes(word))),
  );
const out = mkdtempSync(join(root, 'node_modules', '.tests-'));
try {
  await build({
    entryPoints: tests.map(file => join(root, 'src', file)),
    outdir: out,
    outExtension: { '.js': '.mjs' },
    outbase: join(root, 'src'),
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node18',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    external: ['node:*'],
    loader: { '.css': 'empty' },
    logLevel: 'warning',
  });
  const files = readdirSync(out, { recursive: true })
    .map(String)
    .filter(file => file.endsWith('.mjs'));
  const run = spawnSync(process.execPath, ['--test', ...files.map(file => join(out, file))], {
    stdio: 'inherit',
    cwd: root,
  });
  process.exitCode = run.status ?? 1;
} finally {
  rmSync(out, { recursive: true, force: true });
}
