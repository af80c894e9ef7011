import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';

const dist = join(process.cwd(), 'dist');
const options = existsSync(join(dist, 'index.html')) ? {} : { skip: 'no dist: npm run build' };
const KB = 1024;

const compressed = (file: string) => gzipSync(readFileSync(join(dist, file)), { level: 9 }).length;

/** What a browser loads for the page: what index.html names, and of the lazy pages the largest. */
function firstLoad(extension: 'js' | 'css'): number {
  const html = readFileSync(join(dist, 'index.html'), 'utf8');
  const named = [...html.matchAll(/\/ui\/(assets\/[^"]+)/g)]
    .map(match => match[1] ?? '')
    .filter(file => file.endsWith(`.${extension}`));
  const pages = readdirSync(join(dist, 'assets')).filter(
    file => file.startsWith('page-') && file.endsWith(`.${extension}`),
  );
  const worker = extension === 'js' ? readdirSync(join(dist, 'assets')).filter(file => file.startsWith('worker-')) : [];
  const largest = Math.max(0, ...pages.map(file => compressed(`assets/${file}`)));
  return [...named, ...worker.map(file => `assets/${file}`)].reduce((sum, file) => sum + compressed(file), largest);
}

test('the first load stays within its budget', options, () => {
  const [js, css] = [firstLoad('js'), firstLoad('css')];
  console.log(`first load: ${(js / KB).toFixed(1)} KB JavaScript, ${(css / KB).toFixed(1)} KB CSS`);
  assert.ok(js > KB && js <= 90 * KB, `${js} bytes of JavaScript`);
  assert.ok(css > KB && css <= 15 * KB, `${css} bytes of CSS`);
});

/** The largest chunk of that name, which pages load when they need it. */
const chunk = (name: string) =>
  Math.max(
    0,
    ...readdirSync(join(dist, 'assets'))
      .filter(file => file.startsWith(`${name}-`) && file.endsWith('.js'))
      .map(file => compressed(`assets/${file}`)),
  );

test('the editor is loaded when a page shows one, within its budget', options, () => {
  const html = readFileSync(join(dist, 'index.html'), 'utf8');
  assert.doesNotMatch(html, /codemirror/);
  const editor = chunk('codemirror');
  console.log(`editor: ${(editor / KB).toFixed(1)} KB`);
  assert.ok(editor > KB && editor <= 130 * KB, `${editor} bytes of JavaScript`);
});

test('charts are loaded when a page shows one, within their budget', options, () => {
  const charts = chunk('uplot');
  console.log(`charts: ${(charts / KB).toFixed(1)} KB`);
  assert.ok(charts > KB && charts <= 25 * KB, `${charts} bytes of JavaScript`);
});

test('index.html has no script or style of its own', options, () => {
  const html = readFileSync(join(dist, 'index.html'), 'utf8');
  assert.doesNotMatch(html, /<style|<script(?![^>]*src=)| style=| on[a-z]+=/);
});

/** Packages that are installed with others and of which the console contains nothing. */
const NOT_CONTAINED = ['argparse', 'preact-render-to-string'];

test('NOTICE names every package that the console contains', () => {
  const read = (file: string) => readFileSync(join(process.cwd(), file), 'utf8');
  const { packages } = JSON.parse(read('package-lock.json')) as { packages: Record<string, { dev?: boolean }> };
  const contained = Object.entries(packages)
    .filter(([path, { dev }]) => path !== '' && !dev)
    .map(([path]) => path.replace(/^.*node_modules\//, ''));
  const named = new Set(read('NOTICE').split(/[\s,()]+/));
  assert.deepEqual(
    contained.filter(name => !named.has(name)),
    NOT_CONTAINED,
  );
});

test('the lock file names no registry', () => {
  assert.doesNotMatch(
    readFileSync(join(process.cwd(), 'package-lock.json'), 'utf8'),
    /"resolved"|https?:\/\/[^"]*\.tgz/,
  );
});
