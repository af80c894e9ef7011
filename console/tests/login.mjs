// Log in, be refused, go to the page that was asked for, log out; the login opens over a page when the session has ended.
import assert from 'node:assert/strict';
import { api, axeClean, expectMessage, flow, go, logIn, openPage, password, step, user } from './harness.mjs';

await flow(
  async browser => {
    const page = await openPage(browser);
    expectMessage(/401/);

    await step('the login page is clean and says what is wrong', async () => {
      await go(page, '/ui/processes?q=nothing');
      await page.waitForURL('**/ui/login?next=**');
      await axeClean(page, 'login');
      await page.fill('input[name=username]', user);
      await page.fill('input[name=password]', 'not the password');
      await page.click('button[type=submit]');
      await page.waitForSelector('[role=alert]');
      assert.equal(await page.inputValue('input[name=password]'), '');
    });

    await step('after the login the page that was asked for is shown', async () => {
      await page.fill('input[name=password]', password);
      await page.click('button[type=submit]');
      await page.waitForURL('**/ui/processes?q=nothing');
      await page.waitForSelector('.shell');
    });

    await step('the console keeps no token', async () => {
      const kept = await page.evaluate(() =>
        JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]),
      );
      assert.doesNotMatch(kept, /token|session=/i);
    });

    await step('a login that ended opens over the page, which stays', async () => {
      await go(page, '/ui/processes');
      await page.waitForSelector('.table-row');
      await page.context().clearCookies();
      await page.locator('.table-row').first().click();
      await page.waitForSelector('dialog[open] input[name=password]');
      assert.ok((await page.locator('.table-row').count()) > 0, 'the rows are still there');
      await page.fill('dialog input[name=password]', password);
      await page.click('dialog button[type=submit]');
      await page.waitForSelector('dialog[open]', { state: 'detached' });
      await page.waitForSelector('.drawer .facts');
    });

    await step('logging out ends the session', async () => {
      await page.click('.user-menu button');
      await page.locator('[role=menuitem]').last().click();
      await page.waitForURL('**/ui/login**');
      const status = await page.evaluate(() => fetch('/api/v1/whoami').then(answer => answer.status));
      assert.equal(status, 401);
    });

    await step('a foreign address is not followed after the login', async () => {
      const other = await openPage(browser);
      await logIn(other, '/ui/login?next=https%3A%2F%2Fexample.invalid%2Fui%2F');
      assert.equal(new URL(other.url()).pathname, '/ui/');
    });

    await step('a one-time link logs in, once, and does not stay in the address', async () => {
      const admin = await openPage(browser);
      await logIn(admin);
      const { path } = await api(admin, 'POST', '/login/code', { user });
      const first = await openPage(browser);
      await go(first, path);
      await first.waitForSelector('.shell');
      assert.doesNotMatch(first.url(), /code=/);
      const second = await openPage(browser);
      await go(second, path);
      await second.waitForSelector('[role=alert]');
      await second.waitForSelector('input[name=password]');
    });
  },
  { sample: true },
);
