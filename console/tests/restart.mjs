// The server is killed in the middle of a rolling operation and started again: the page says so, then goes on by itself.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import {
  api,
  ask,
  connectedHosts,
  ended,
  expectMessage,
  flow,
  folder,
  go,
  LOOP,
  logIn,
  markPage,
  openPage,
  specOf,
  step,
  withProcess,
} from './harness.mjs';

const runsOf = host => `${folder}/runs-${host.replace(':', '-')}`;

await flow(async browser => {
  await ask('four-agents');
  const page = await openPage(browser);
  await logIn(page, '/ui/ops');
  const hosts = await connectedHosts(page, 4);
  const specs = host => specOf(`roll-${host}`, `echo run >> ${runsOf(host)}; ${LOOP}`);
  let isSamePage;
  const progress = text => page.waitForSelector(`.operation-counts:has-text("${text}")`, { timeout: 60_000 });

  await withProcess(page, 'roll/web', hosts, specs, {}, async () => {
    const all = { filter: { namespace: ['roll'] }, expect_count: 4 };
    await ended(page, 'POST', '/operate', { op: 'start', ...all });

    await step('an operation goes in batches of one', async () => {
      const options = { batch_size: 1, pause_secs: 2, max_failures: 4 };
      const { job_id: job } = await api(page, 'POST', '/operate', { op: 'restart', ...all, options });
      await go(page, `/ui/ops/job/${job}`);
      await page.waitForSelector('.live-on');
      await progress('1 done');
      isSamePage = await markPage(page);
    });

    await step('without the server the page says that it reconnects, and keeps what it showed', async () => {
      expectMessage(/ERR_|Failed to load/);
      await ask('kill-server');
      await page.waitForSelector('.live-bar');
      assert.match((await page.textContent('.live')) ?? '', /reconnecting/);
      assert.equal(await page.locator('.table-row').count(), 4);
    });

    await step('after its start the page is live again and the operation goes on to its end', async () => {
      await ask('start-server');
      await page.waitForSelector('.live-on', { timeout: 60_000 });
      await page.waitForSelector('.live-bar', { state: 'detached' });
      await progress('4 done');
      await page.waitForSelector('.page-head .state:has-text("succeeded")');
      await page.locator('.table-row', { hasText: 'done' }).nth(3).waitFor();
      await isSamePage();
    });

    await step('each target was done once', async () => {
      for (const host of hosts) assert.equal(readFileSync(runsOf(host), 'utf8'), 'run\nrun\n', host);
    });
  });
});
