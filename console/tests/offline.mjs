// A browser without network, and a server that is gone: a bar says so, old rows stay, and what happened meanwhile is shown after.
import assert from 'node:assert/strict';
import {
  ask,
  connectedHosts,
  ended,
  expectMessage,
  flow,
  LOOP,
  logIn,
  markPage,
  openPage,
  specOf,
  step,
  withProcess,
} from './harness.mjs';

await flow(async browser => {
  const other = await openPage(browser);
  await logIn(other, '/ui/me');
  const hosts = await connectedHosts(other, 1);
  const operate = op => ended(other, 'POST', '/processes/away/one/operate', { op, hosts });

  await withProcess(other, 'away/one', hosts, specOf('away', LOOP), {}, async () => {
    await operate('start');
    const page = await openPage(browser);
    // The network of a shared worker is not the page's to switch off.
    await page.addInitScript(() => {
      delete globalThis.SharedWorker;
    });
    await logIn(page, '/ui/processes?ns=away');
    const shows = state => page.waitForSelector(`.table-row .state:has-text("${state}")`);
    const isLive = async () => {
      await page.waitForSelector('.live-on', { timeout: 60_000 });
      await page.waitForSelector('.live-bar', { state: 'detached' });
    };
    await shows('running');
    await isLive();
    const isSamePage = await markPage(page);
    expectMessage(/ERR_|Failed to load/);

    await step('without network a bar says so, and the rows stay', async () => {
      await page.context().setOffline(true);
      await page.waitForSelector('.live-bar');
      assert.match((await page.textContent('.live')) ?? '', /reconnecting/);
      await shows('running');
    });

    await step('what cannot be loaded says so', async () => {
      await page.locator('.table-row').first().click();
      await page.waitForSelector('.drawer [role=alert]');
    });

    await step('with network again, what happened meanwhile is shown', async () => {
      await operate('stop');
      await shows('running');
      await page.context().setOffline(false);
      await isLive();
      await shows('stopped');
      await page.waitForSelector('.drawer .facts');
    });

    await step('without a server a bar says so, and a new filter that it cannot be loaded', async () => {
      await ask('kill-server');
      await page.waitForSelector('.live-bar');
      await page.keyboard.press('Escape');
      await page.keyboard.press('/');
      await page.keyboard.type('state:running');
      await page.keyboard.press('Enter');
      await page.waitForSelector('[role=alert] >> text=/Try again|Retry/');
    });

    await step('the page goes on by itself when the server is back', async () => {
      await ask('start-server');
      await isLive();
      await page.waitForSelector('.table-empty .placeholder');
      await page.waitForFunction(async () => {
        const answer = await fetch('/api/v1/hosts?connected=true').then(one => one.json());
        return answer.count === 1;
      });
      await operate('start');
      await page.goBack();
      await shows('running');
      await isSamePage();
    });
  });
});
