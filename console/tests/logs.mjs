// The output of a process: followed, paused, filtered, of the run before, and downloaded.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { connectedHosts, ended, flow, go, logIn, openPage, specOf, step, withProcess } from './harness.mjs';

const COUNTS = 'n=0; while true; do n=$((n+1)); echo run $$ line $n; sleep 0.2; done';

await flow(async browser => {
  const page = await openPage(browser);
  await logIn(page, '/ui/hosts');
  const hosts = await connectedHosts(page, 1);
  await withProcess(page, 'logs/counts', hosts, specOf('counts', COUNTS), {}, async () => {
    await ended(page, 'POST', '/processes/logs/counts/operate', { op: 'start', hosts });
    const lines = () => page.locator('.log-line').allTextContents();
    const numberOf = line => Number(/line (\d+)/.exec(line ?? '')?.[1]);
    const reached = number => page.waitForSelector(`.log-line:text-matches("line ${number}$")`, { state: 'attached' });
    const press = name => page.locator('.log-bar').getByRole('button', { name, exact: true }).click();

    await step('lines appear as they are written', async () => {
      await go(page, `/ui/p/logs/counts/${hosts[0]}?tab=logs`);
      await reached(1);
      const last = numberOf((await lines()).at(-1));
      await reached(last + 5);
    });

    await step('a pause holds what is shown, and counts what comes', async () => {
      await press('Pause');
      const held = await lines();
      await page.waitForSelector('.log-bar [role=status]:text-matches("[2-9] new lines")');
      assert.deepEqual(await lines(), held);
      await press('Follow');
      await reached(numberOf(held.at(-1)) + 2);
    });

    await step('a filter shows only lines with a text', async () => {
      await page.getByLabel('Only lines with').fill('LINE 1');
      await page.waitForFunction(() =>
        [...document.querySelectorAll('.log-line')].every(one => /line 1/.test(one.textContent)),
      );
      await page.getByLabel('Only lines with').fill('no such line');
      await page.waitForFunction(() => document.querySelectorAll('.log-line').length === 0);
      await page.getByLabel('Only lines with').fill('');
      await reached(2);
    });

    await step('the run before has its own lines', async () => {
      const [before] = await lines();
      await ended(page, 'POST', '/processes/logs/counts/operate', { op: 'restart', hosts });
      await go(page, `/ui/p/logs/counts/${hosts[0]}?tab=logs`);
      await reached(1);
      assert.notEqual((await lines())[0], before);
      await press('Previous run');
      await page.waitForFunction(text => document.querySelector('.log-line')?.textContent === text, before);
    });

    await step('all of it can be downloaded', async () => {
      const download = page.waitForEvent('download');
      await page.locator('.log-bar a', { hasText: 'Download' }).click();
      const file = await (await download).path();
      assert.match(readFileSync(file, 'utf8'), /run \d+ line 1\nrun \d+ line 2\n/);
      assert.equal((await download).suggestedFilename(), 'logs-counts.log');
    });
  });
});
