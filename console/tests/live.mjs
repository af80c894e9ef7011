// What happens is shown at once, in all tabs, without a stream per tab; a lost connection is named and made good.
import assert from 'node:assert/strict';
import {
  api,
  connectedHosts,
  expectMessage,
  flow,
  go,
  logIn,
  openPage,
  specOf,
  step,
  withProcess,
} from './harness.mjs';

await flow(async browser => {
  const page = await openPage(browser);
  await logIn(page, '/ui/processes?ns=live');
  const [host] = await connectedHosts(page, 1);

  await withProcess(page, 'live/one', [host], specOf('live', 'while true; do sleep 1; done'), {}, async () => {
    await go(page, '/ui/processes?ns=live');
    await page.waitForSelector('.table-row a');
    const tabs = [page];
    for (let n = 0; n < 7; n++) tabs.push(await page.context().newPage());
    for (const tab of tabs.slice(1)) {
      await go(tab, '/ui/processes?ns=live');
      await tab.waitForSelector('.table-row a');
    }

    await step('eight tabs work, and the change is in the one that is shown', async () => {
      const last = tabs[tabs.length - 1];
      await last.bringToFront();
      await last.waitForSelector('.live-on');
      await api(last, 'POST', '/processes/live/one/operate', { op: 'start', hosts: [host] });
      await last.waitForFunction(() => document.querySelector('.table-row .state')?.textContent?.trim() === 'running');
    });

    await step('a tab that was hidden catches up', async () => {
      await page.bringToFront();
      await page.waitForFunction(() => document.querySelector('.table-row .state')?.textContent?.trim() === 'running');
    });

    await step('a row that stops matching stays, greyed', async () => {
      for (const tab of tabs.slice(1)) await tab.close();
      await go(page, '/ui/processes?ns=live&state=running');
      await page.waitForSelector('.table-row a');
      await page.waitForSelector('.live-on');
      await api(page, 'POST', '/processes/live/one/operate', { op: 'stop', hosts: [host] });
      await page.waitForSelector('.table-row.is-gone');
      assert.equal(await page.locator('.table-row a').count(), 1);
    });
  });

  await step('without SharedWorker each tab has its own stream', async () => {
    const other = await openPage(browser);
    await other.addInitScript(() => {
      delete globalThis.SharedWorker;
    });
    await logIn(other, '/ui/');
    await other.waitForSelector('.live-on');
    await other.context().close();
  });

  await step('a server that does not answer is named, and the page recovers by itself', async () => {
    const other = await openPage(browser);
    await other.addInitScript(() => {
      delete globalThis.SharedWorker;
    });
    expectMessage(/ERR_|Failed to load|NetworkError|network/i);
    await logIn(other, '/ui/processes');
    await other.waitForSelector('.live-on');
    await other.context().setOffline(true);
    await other.route('**/api/v1/watch**', route => route.abort());
    await other.evaluate(() => dispatchEvent(new Event('online')));
    await other.waitForSelector('.live-bar');
    await other.unroute('**/api/v1/watch**');
    await other.context().setOffline(false);
    await other.waitForSelector('.live-on');
    await other.waitForSelector('.live-bar', { state: 'detached' });
  });
});
