// What happens is shown at once, in all tabs, without a stream per tab.
import assert from 'node:assert/strict';
import {
  api,
  connectedHosts,
  flow,
  go,
  LOOP,
  logIn,
  openPage,
  openTab,
  specOf,
  step,
  withProcess,
} from './harness.mjs';

await flow(async browser => {
  const page = await openPage(browser);
  await logIn(page, '/ui/processes?ns=live');
  const [host] = await connectedHosts(page, 1);

  await withProcess(page, 'live/one', [host], specOf('live', LOOP), {}, async () => {
    await go(page, '/ui/processes?ns=live');
    await page.waitForSelector('.table-row a');
    const tabs = [page];
    for (let n = 0; n < 7; n++) tabs.push(await openTab(page));
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
});
