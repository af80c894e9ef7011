// Pictures of the console; `cargo xtask screenshots` starts it against a simulated fleet with one real agent.
//
//   node scripts/screenshots.mjs docs FOLDER          the pictures that the documents show
//   node scripts/screenshots.mjs every FOLDER [PART]  every page whose address contains PART, in all sizes, languages and themes
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { api, flow, folder, go, logIn, openPage, specOf, withProcess } from '../tests/harness.mjs';
import { addressOf, PAGES, samples, settled } from '../tests/page-list.mjs';

const [kind, out, part = ''] = process.argv.slice(2);
const realHost = process.env.MUSTER_HOST;
const GAME = 100;

const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const tell = async line => {
  console.log(`@${line}`);
  await answers.next();
};

/** The simulated hosts with these numbers. */
const hosts = (first, n) => Array.from({ length: n }, (_, index) => `10.0.0.${first + index}`);

const program = (name, instances = 1) => ({
  bk_process_name: name,
  bk_func_name: name,
  proc_num: instances,
  user: 'game',
  work_path: `/data/${name}`,
  pid_file: `run/${name}-\${LocalInstID}.pid`,
  start_cmd: `./start.sh \${LocalInstID}`,
  stop_cmd: `./stop.sh \${LocalInstID}`,
  restart_cmd: `./restart.sh \${LocalInstID}`,
  reload_cmd: 'kill -HUP $(cat run/pid)',
});

function game() {
  const set = (name, env, first) => ({
    bk_set_name: name,
    bk_set_env: env,
    modules: [
      { bk_module_name: 'gateway', hosts: hosts(first, 4), processes: [program('gateway')] },
      { bk_module_name: 'login', hosts: hosts(first + 4, 4), processes: [program('login', 2)] },
      { bk_module_name: 'match', hosts: hosts(first + 8, 6), processes: [program('match', 2), program('ranking')] },
      { bk_module_name: 'battle', hosts: hosts(first + 14, 20), processes: [program('battle', 4)] },
      { bk_module_name: 'chat', hosts: hosts(first + 34, 4), processes: [program('chat')] },
    ],
  });
  const sets = [
    set('zone-1', 3, 1),
    set('zone-2', 3, 41),
    set('zone-3', 3, 81),
    set('zone-4', 3, 121),
    set('beta', 1, 161),
  ];
  return { bk_biz_id: GAME, bk_biz_name: 'Aurora', sets };
}

const spec = name => ({
  identity: {
    proc_name: name,
    setup_path: `/opt/${name}`,
    pid_path: `/run/${name}.pid`,
    user: 'root',
  },
  control: { start_cmd: `./${name} --daemon`, reload_cmd: 'kill -HUP $(cat $PID_FILE)' },
});

/** Waits for the end of a task. */
const ended = (page, { task_id: task }) => api(page, 'GET', `/tasks/${encodeURIComponent(task)}?wait=30s`);

async function makeFleet(page) {
  await api(page, 'PUT', `/businesses/${GAME}/topology`, game());
  const everywhere = hosts(1, 200);
  for (const [name, tier] of [
    ['infra/node-exporter', 'base'],
    ['infra/log-shipper', 'base'],
    ['infra/time-sync', 'base'],
  ])
    await api(page, 'PUT', `/processes/${name}`, {
      hosts: everywhere,
      spec: spec(name.split('/')[1]),
      labels: { tier },
    });
  await api(page, 'PUT', '/processes/payments/ledger', {
    hosts: hosts(201, 12),
    spec: spec('ledger'),
    labels: { tier: 'money' },
  });
  await api(page, 'PUT', '/processes/payments/settlement', {
    hosts: hosts(201, 12),
    spec: spec('settlement'),
    labels: { tier: 'money' },
  });
  await ended(page, await api(page, 'POST', '/operate', { op: 'start', filter: { connected: true } }));
  await ended(page, await api(page, 'POST', '/operate', { op: 'manage', filter: { connected: true } }));
  await ended(
    page,
    await api(page, 'POST', '/operate', { op: 'stop', filter: { process: ['infra/time-sync'], host: hosts(181, 9) } }),
  );
  await tell('events 0.5');
}

/** As WebP, a third of the size of PNG; a page of the browser converts it. */
async function save(browser, picture, name) {
  const page = await browser.newPage();
  const bytes = await page.evaluate(async png => {
    const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${png}`)).blob());
    const canvas = new OffscreenCanvas(image.width, image.height);
    canvas.getContext('2d').drawImage(image, 0, 0);
    const webp = await canvas.convertToBlob({ type: 'image/webp', quality: 0.85 });
    return [...new Uint8Array(await webp.arrayBuffer())];
  }, picture.toString('base64'));
  await page.close();
  await writeFile(join(out, `${name}.webp`), Buffer.from(bytes));
  console.log(`${name}.webp, ${Math.round(bytes.length / 1000)} KB`);
}

/** The pictures of the documents: name, view, and what is done before it is taken. */
const SHOTS = [
  ['overview', {}, async page => open(page, '/ui/', '.tile')],
  ['processes', {}, async page => open(page, '/ui/processes?ns=infra,payments,shop&sort=state', '.table-row a')],
  [
    'confirm',
    {},
    async page => {
      await open(page, '/ui/processes?business=100&env=formal&name=gateway_1', '.table-row a');
      await page.keyboard.press('a');
      await page.waitForSelector('.action-bar');
      await page.keyboard.press('r');
      await page.waitForSelector('dialog .plan-facts');
    },
  ],
  ['why', {}, async page => open(page, `/ui/p/shop/checkout/${realHost}`, '.why')],
  ['business', {}, async page => open(page, `/ui/b/${GAME}?set=1`, '.table-row a')],
  ['operation', {}, async (page, task) => open(page, `/ui/ops/task/${encodeURIComponent(task)}`, '.failure')],
  ['chinese', { language: 'zh', theme: 'dark' }, async page => open(page, `/ui/b/${GAME}`, '.table-row a')],
];

async function open(page, path, ready) {
  await go(page, path);
  await settled(page, ready);
}

const VIEWS = [1440, 1280, 390].flatMap(width =>
  ['en', 'zh'].flatMap(language => ['light', 'dark'].map(theme => ({ width, language, theme, height: 900 }))),
);

async function everyPage(browser, found) {
  for (const view of VIEWS) {
    const page = await openPage(browser, view);
    await logIn(page, '/ui/me');
    for (const [name, address, ready] of PAGES) {
      const path = addressOf(address, found);
      if (path === null || !path.includes(part)) continue;
      await open(page, path, ready);
      const file = `${name.replace(/\W+/g, '-')}-${view.width}-${view.language}-${view.theme}`;
      await save(browser, await page.screenshot(), file);
    }
    await page.context().close();
  }
}

async function documents(browser, task) {
  for (const [name, view, prepare] of SHOTS) {
    const page = await openPage(browser, { width: 1280, height: 760, ...view });
    await logIn(page, '/ui/me');
    await prepare(page, task);
    await save(browser, await page.screenshot(), name);
    await page.context().close();
  }
}

/** A process of the real agent that ran for a while, and then could not. */
const CHECKOUT = `if [ -e ${folder}/migrated ]; then echo 'opening the database'; echo 'error: no such table: orders'; exit 1; fi; \
while true; do echo 'order placed'; sleep 1; done`;

await flow(async browser => {
  const page = await openPage(browser);
  await logIn(page, '/ui/processes');
  await makeFleet(page);
  await withProcess(page, 'shop/checkout', [realHost], specOf('checkout', CHECKOUT), { tier: 'front' }, async () => {
    await ended(page, await api(page, 'POST', '/processes/shop/checkout/operate', { op: 'start', all: true }));
    await writeFile(join(folder, 'migrated'), '');
    await ended(page, await api(page, 'POST', '/processes/shop/checkout/operate', { op: 'restart', all: true }));
    const rolled = await api(page, 'POST', '/operate', { op: 'restart', filter: { process: ['infra/log-shipper'] } });
    await ended(page, rolled);
    if (kind === 'every') await everyPage(browser, await samples(page, 'shop'));
    else await documents(browser, rolled.task_id);
  });
});
process.stdin.destroy();
