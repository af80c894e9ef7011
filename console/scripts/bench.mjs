// Measures the console in a browser; `cargo xtask bench console` starts it against a big simulated fleet and prints the table.
//
//   node scripts/bench.mjs CHANGES_PER_SECOND LOG_SECONDS
//
// One line of JSON a figure. A line `@…` tells the simulator something; it answers with a line.
import { createInterface } from 'node:readline';
import { api, flow, go, logIn, openPage, specOf, withProcess } from '../tests/harness.mjs';
import { settled } from '../tests/page-list.mjs';

const [changes, logSeconds] = process.argv.slice(2).map(Number);
const host = process.env.MUSTER_HOST;
const LOADS = 9;
const FRAME_SECONDS = 15;

const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const tell = async line => {
  console.log(`@${line}`);
  await answers.next();
};
const figure = (what, measured, aim = '') => console.log(JSON.stringify({ what, measured, aim }));

const sorted = values => [...values].sort((a, b) => a - b);
const at = (values, share) => sorted(values)[Math.min(values.length - 1, Math.floor(values.length * share))];
const ms = value => `${value.toFixed(1)} ms`;
const mb = bytes => `${(bytes / 1e6).toFixed(1)} MB`;
const pause = seconds => new Promise(resolve => setTimeout(resolve, seconds * 1000));

/** The times between frames while `work` goes on in the page. */
async function frames(page, work) {
  await page.evaluate(() => {
    window.benchFrames = [];
    let last = performance.now();
    const next = now => {
      window.benchFrames?.push(now - last);
      last = now;
      if (window.benchFrames) requestAnimationFrame(next);
    };
    requestAnimationFrame(next);
  });
  await work();
  const times = await page.evaluate(() => {
    const found = window.benchFrames;
    window.benchFrames = null;
    return found;
  });
  return `p50 ${ms(at(times, 0.5))}, p95 ${ms(at(times, 0.95))}, longest ${ms(at(times, 1))}`;
}

/** How many requests to the API a page makes; the stream of changes is none of the page's. */
function countRequests(page) {
  const counter = { n: 0 };
  page.on('request', request => {
    if (request.url().includes('/api/v1/')) counter.n++;
  });
  return counter;
}

const collected = async page => {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('HeapProfiler.collectGarbage');
  const { usedSize } = await devtools.send('Runtime.getHeapUsage');
  await devtools.detach();
  return usedSize;
};

async function firstLoad(browser) {
  const [paints, rows, scripts, styles] = [[], [], [], []];
  for (let load = 0; load < LOADS; load++) {
    const page = await openPage(browser);
    await logIn(page, '/ui/me');
    // A new tab of the same login with an empty cache.
    const tab = await page.context().newPage();
    const devtools = await tab.context().newCDPSession(tab);
    await devtools.send('Network.enable');
    await devtools.send('Network.setCacheDisabled', { cacheDisabled: true });
    await go(tab, '/ui/processes');
    await tab.waitForSelector('.table-row a');
    const found = await tab.evaluate(() => {
      const bytes = suffix =>
        performance
          .getEntriesByType('resource')
          .filter(one => new URL(one.name).pathname.endsWith(suffix))
          .reduce((sum, one) => sum + one.encodedBodySize, 0);
      const paint = performance.getEntriesByType('paint').find(one => one.name === 'first-contentful-paint');
      return { paint: paint.startTime, rows: performance.now(), scripts: bytes('.js'), styles: bytes('.css') };
    });
    paints.push(found.paint);
    rows.push(found.rows);
    scripts.push(found.scripts);
    styles.push(found.styles);
    await page.context().close();
  }
  figure('first load: JavaScript, as sent', `${(at(scripts, 1) / 1000).toFixed(1)} KB`, '≤ 90 KB gzip');
  figure('first load: CSS, as sent', `${(at(styles, 1) / 1000).toFixed(1)} KB`, '≤ 15 KB gzip');
  figure(`first paint of the process list, nothing cached (median of ${LOADS})`, ms(at(paints, 0.5)), '≤ 300 ms');
  figure('… until its first rows are shown', ms(at(rows, 0.5)));
}

async function table(browser) {
  const page = await openPage(browser);
  await logIn(page, '/ui/processes');
  await settled(page, '.table-row a');
  const total = Number(await page.getAttribute('[role=grid]', 'aria-rowcount')) - 1;
  const rows = () => page.locator('.table-row').count();
  let most = await rows();
  const requests = countRequests(page);
  await page.mouse.move(800, 500);
  const wheel = await frames(page, async () => {
    for (let turn = 0; turn < 200; turn++) {
      await page.mouse.wheel(0, 280);
      await page.evaluate(() => new Promise(resolve => requestAnimationFrame(resolve)));
    }
  });
  await settled(page, '.table-row a');
  most = Math.max(most, await rows());
  const reached = Number(await page.getAttribute('.table-row', 'aria-rowindex')) - 2;
  figure(`${reached.toLocaleString('en')} rows by wheel: requests`, String(requests.n), 'one for 200 rows');
  figure('… frames', wheel);
  requests.n = 0;
  const drag = await frames(page, () =>
    page.evaluate(async () => {
      const scroller = document.querySelector('.table-scroll');
      for (let part = 0; part <= 60; part++) {
        scroller.scrollTop = (scroller.scrollHeight * part) / 60;
        await new Promise(resolve => requestAnimationFrame(resolve));
      }
    }),
  );
  const last = rowCount =>
    [...document.querySelectorAll('.table-row')].at(-1)?.getAttribute('aria-rowindex') === rowCount;
  await page.waitForFunction(last, String(total + 1));
  await settled(page, '.table-row a');
  most = Math.max(most, await rows());
  figure(`drag over all ${total.toLocaleString('en')}: requests`, String(requests.n), '≤ 3');
  figure('… frames', drag);
  figure('rows in the DOM, at most', String(most), '≤ 64');
  figure('memory of the page after that', mb(await collected(page)));
  await page.context().close();
}

async function changing(browser) {
  const page = await openPage(browser);
  await logIn(page, '/ui/processes');
  await settled(page, '.table-row a');
  await tell(`events ${changes}`);
  await pause(5);
  const what = `${changes.toLocaleString('en')} changes a second: frames`;
  figure(`${what} of the process list`, await frames(page, () => pause(FRAME_SECONDS)), 'p95 ≤ 25 ms');
  await go(page, '/ui/');
  await settled(page, 'h1');
  figure(`${what} of the overview`, await frames(page, () => pause(FRAME_SECONDS)), 'p95 ≤ 25 ms');
  await tell('events 0');
  await page.context().close();
}

async function operation(browser) {
  const page = await openPage(browser);
  await logIn(page, '/ui/ops');
  const before = Date.now();
  const body = { op: 'start', filter: { name: ['proc-0'], connected: true } };
  const { count } = await api(page, 'POST', '/operate', { ...body, dry_run: true });
  const { task_id: task } = await api(page, 'POST', '/operate', { ...body, expect_count: count });
  const requests = countRequests(page);
  await go(page, `/ui/ops/task/${encodeURIComponent(task)}`);
  await page.waitForFunction(
    words => document.querySelector('.operation-counts')?.textContent?.replace(/\s+/g, ' ').trim() === words,
    `${count.toLocaleString('en-GB')} done`,
    { timeout: 120_000 },
  );
  const took = (Date.now() - before) / 1000;
  figure(
    `an operation on ${count.toLocaleString('en')} hosts, followed to its end`,
    `${took.toFixed(1)} s, ${requests.n} requests, ${await page.locator('.table-row').count()} rows in the DOM`,
    'no request per host',
  );
  await page.context().close();
}

async function log(browser) {
  const page = await openPage(browser);
  await logIn(page, '/ui/processes');
  const line = '%07.0f GET /v1/matches/8f1c served in 12 ms by worker 7, 200 OK, 1830 bytes';
  // It ends by itself.
  const command = `i=0; while [ $i -lt ${logSeconds + 60} ]; do seq -f '${line}' 1 1000; sleep 1; i=$((i+1)); done`;
  await withProcess(page, 'bench/chatty', [host], specOf('chatty', command), {}, async () => {
    const { task_id: task } = await api(page, 'POST', '/processes/bench/chatty/operate', {
      op: 'start',
      hosts: [host],
    });
    await api(page, 'GET', `/tasks/${encodeURIComponent(task)}?wait=30s`);
    await go(page, `/ui/p/bench/chatty/${host}?tab=logs`);
    await page.waitForSelector('.log-line');
    let most = 0;
    const times = await frames(page, async () => {
      for (let seconds = 0; seconds < logSeconds; seconds += 10) {
        await pause(Math.min(10, logSeconds - seconds));
        most = Math.max(most, await collected(page));
      }
    });
    const shown = await page.locator('.log-line').count();
    const what = `a log of 1,000 lines a second, after ${logSeconds} s`;
    figure(`${what}: memory, at most`, mb(most), '≤ 60 MB after 600 s');
    figure('… lines in the DOM', String(shown));
    figure('… frames', times);
  });
}

await flow(async browser => {
  await firstLoad(browser);
  await table(browser);
  await changing(browser);
  await operation(browser);
  await log(browser);
});
process.stdin.destroy();
