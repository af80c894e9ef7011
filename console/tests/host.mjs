// Hosts: the list, one host with its processes, what is wanted beside what is held, and an agent that goes away and comes back.
import assert from 'node:assert/strict';
import {
  api,
  ask,
  connectedHosts,
  ended,
  flow,
  go,
  LOOP,
  logIn,
  openPage,
  specOf,
  step,
  withProcess,
} from './harness.mjs';

await flow(async browser => {
  const page = await openPage(browser);
  await logIn(page, '/ui/hosts');
  const hosts = await connectedHosts(page, 1);
  await withProcess(page, 'host/one', hosts, specOf('host', LOOP), {}, async () => {
    await ended(page, 'POST', '/processes/host/one/operate', { op: 'start', hosts });

    await step('the list leads to a host and its processes', async () => {
      await page.waitForSelector('.table-row:has-text("connected")');
      await page.keyboard.press('j');
      await page.keyboard.press('Enter');
      await page.waitForURL('**/ui/hosts/*');
      await page.waitForSelector('.page-head .state:has-text("connected")');
      await page.waitForSelector('.table-row a:has-text("host/one")');
    });

    await step('what is held is compared with what is wanted', async () => {
      await page.locator('.tabs a', { hasText: 'held' }).click();
      await page.waitForURL('**?tab=diff');
      await page.waitForSelector('main .tone-good');
      await page.locator('main label', { hasText: 'differ' }).locator('input').uncheck();
      await page.waitForSelector('.held a:has-text("host/one")');
    });

    await step('an agent that goes away is shown at once, with the time', async () => {
      await page.waitForSelector('.live-on');
      await ask('kill-agent');
      await page.waitForSelector('.page-head .tone-warn:has-text("away")');
      await page.waitForSelector('main .placeholder');
      await go(page, '/ui/hosts?connected=false');
      await page.waitForSelector('.table-row:has-text("away")');
      await go(page, '/ui/processes?ns=host');
      await page.waitForSelector('.table-row .state:has-text("unknown (running)")');
      await page.keyboard.press('j');
      await page.keyboard.press('x');
      const start = page.locator('.action-bar .button-plain').first();
      assert.equal(await start.getAttribute('aria-disabled'), 'true');
      assert.match((await start.getAttribute('title')) ?? '', /agent/);
    });

    await step('and one that comes back, too', async () => {
      await ask('start-agent');
      await page.waitForSelector('.table-row .state .ellipsis:text-is("running")');
      const { processes } = await api(page, 'GET', '/processes?namespace=host');
      assert.equal(processes[0].state, 'running');
      await go(page, '/ui/hosts');
      await page.waitForSelector('.table-row:has-text("connected")');
    });
  });
});
