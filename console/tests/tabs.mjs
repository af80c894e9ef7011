// Two tabs: one stream for both, a change in one is in the other, and so are language, theme, logout and login.
import assert from 'node:assert/strict';
import {
  api,
  connectedHosts,
  expectMessage,
  flow,
  go,
  LOOP,
  logIn,
  openPage,
  openTab,
  password,
  requests,
  specOf,
  step,
  withProcess,
} from './harness.mjs';

await flow(async browser => {
  expectMessage(/401/);
  const first = await openPage(browser);
  await logIn(first, '/ui/me');
  const hosts = await connectedHosts(first, 1);
  const choose = async (page, text) => {
    await page.click('.user-menu button');
    await page.locator('.user-menu [role^=menuitem]', { hasText: text }).click();
  };

  await withProcess(first, 'tabs/one', hosts, specOf('tabs', LOOP), {}, async () => {
    await go(first, '/ui/processes?ns=tabs');
    await first.waitForSelector('.live-on');
    const second = await openTab(first);

    await step('another tab opens no stream', async () => {
      const streams = await requests(/watch/);
      await go(second, '/ui/processes?ns=tabs');
      await second.waitForSelector('.table-row a');
      await second.waitForSelector('.live-on');
      assert.equal(await requests(/watch/), streams);
    });

    await step('what one tab does is shown in the other', async () => {
      await first.bringToFront();
      await first.keyboard.press('a');
      await first.keyboard.press('s');
      await first.waitForSelector('dialog .plan-facts');
      await first.locator('dialog .button-primary').click();
      await first.waitForSelector('.table-row .state:has-text("running")');
      await second.bringToFront();
      await second.waitForSelector('.table-row .state:has-text("running")');
    });

    await step('language, theme and keys change in both', async () => {
      await choose(second, '中文');
      await first.waitForFunction(() => document.querySelector('h1')?.textContent === '进程');
      await choose(second, 'English');
      await first.waitForFunction(() => document.querySelector('h1')?.textContent === 'Processes');
      await choose(second, 'Dark');
      await first.waitForFunction(() => document.documentElement.dataset.theme === 'dark');
    });

    await step('a logout in one tab asks for a login in the other, which keeps its page', async () => {
      await choose(second, 'Log out');
      await second.waitForURL('**/ui/login**');
      await first.bringToFront();
      await first.waitForSelector('dialog[open] input[name=password]');
      assert.equal(await first.locator('.table-row a').count(), 1);
      assert.match((await first.textContent('.action-count')) ?? '', /^1/);
    });

    await step('a login in one tab counts in the other', async () => {
      await second.bringToFront();
      await logIn(second, '/ui/processes?ns=tabs');
      await first.bringToFront();
      await first.waitForSelector('dialog[open]', { state: 'detached' });
      await first.waitForSelector('.live-on');
      assert.match((await first.textContent('.action-count')) ?? '', /^1/);
    });

    await step('a login over one page opens the other, too', async () => {
      await second.bringToFront();
      const { logins } = await api(second, 'GET', '/me/logins');
      await api(second, 'DELETE', `/me/logins/${logins.find(one => one.current).id}`);
      await second.waitForSelector('dialog[open] input[name=password]');
      await first.waitForSelector('dialog[open] input[name=password]');
      await second.fill('dialog input[name=password]', password);
      await second.click('dialog button[type=submit]');
      await second.waitForSelector('dialog[open]', { state: 'detached' });
      await first.waitForSelector('dialog[open]', { state: 'detached' });
    });
  });
});
