// Events: one that happens is announced, filters are in the address, and a row leads to its process.
import assert from 'node:assert/strict';
import { connectedHosts, ended, flow, go, logIn, openPage, specOf, step, withProcess } from './harness.mjs';

await flow(async browser => {
  const page = await openPage(browser);
  await logIn(page, '/ui/events');
  const hosts = await connectedHosts(page, 1);
  const dies = specOf('dies', 'sleep 2; exit 7', { monitor_policy: { start_check_secs: 1, auto_type: 2 } });
  await withProcess(page, 'events/dies', hosts, dies, {}, async () => {
    await step('an event is announced, and shown when asked for', async () => {
      await page.waitForSelector('.placeholder');
      await page.waitForSelector('.live-on');
      await ended(page, 'POST', '/processes/events/dies/operate', { op: 'start', hosts });
      await page.locator('.list-head .button', { hasText: 'new, reload' }).click();
      await page.locator('.table-row', { hasText: 'events/dies' }).first().waitFor();
      assert.match((await page.textContent('.table-row')) ?? '', /exited.*events\/dies.*code 7/);
    });

    await step('filters are in the address, and back takes them off', async () => {
      await page.getByLabel('Namespace').fill('events');
      await page.waitForURL('**/ui/events?ns=events');
      await page.locator('.events-kinds .button', { hasText: 'unhealthy' }).click();
      await page.waitForURL('**/ui/events?ns=events&kind=process_unhealthy');
      await page.waitForSelector('.placeholder >> text=No event matches');
      await page.goBack();
      await page.waitForURL('**/ui/events?ns=events');
      await page.waitForSelector('.table-row a');
    });

    await step('an address shows the same rows', async () => {
      await go(page, '/ui/events?name=dies&kind=process_exit&since=1h');
      await page.waitForSelector('.table-row a');
      await go(page, '/ui/events?name=other');
      await page.waitForSelector('.placeholder');
      await page.getByRole('button', { name: 'Clear the filter' }).first().click();
      await page.waitForURL('**/ui/events');
      await page.waitForSelector('.table-row a');
    });

    await step('a row leads to the process', async () => {
      await page.keyboard.press('j');
      await page.keyboard.press('Enter');
      await page.waitForURL('**/ui/p/events/dies/**');
      await page.waitForSelector('.why');
    });
  });
});
