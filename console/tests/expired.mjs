// A login ends in the middle: the login opens over the page, which asks for nothing until then and keeps all that was chosen.
import assert from 'node:assert/strict';
import {
  api,
  connectedHosts,
  ended,
  expectMessage,
  flow,
  LOOP,
  logIn,
  openPage,
  password,
  requests,
  specOf,
  step,
  withProcess,
} from './harness.mjs';

await flow(async browser => {
  // A process that has not run has no output.
  expectMessage(/40[14]/);
  const other = await openPage(browser);
  await logIn(other, '/ui/me');
  const hosts = await connectedHosts(other, 1);
  const endOtherLogins = async () => {
    const { logins } = await api(other, 'GET', '/me/logins');
    for (const { id, current } of logins) if (!current) await api(other, 'DELETE', `/me/logins/${id}`);
  };

  await withProcess(other, 'login/one', hosts, specOf('one', LOOP), {}, async () => {
    const page = await openPage(browser);
    await logIn(page, '/ui/processes?ns=login');
    const dialog = page.locator('dialog[open]', { has: page.locator('input[name=password]') });
    const logInAgain = async secret => {
      await dialog.locator('input[name=password]').fill(secret);
      await dialog.locator('button[type=submit]').click();
    };
    await page.waitForSelector('.table-row .state:has-text("stopped")');
    await page.waitForSelector('.live-on');

    await step('the login opens over the page by itself', async () => {
      await page.keyboard.press('j');
      await page.keyboard.press('x');
      await page.keyboard.press('Enter');
      await page.waitForSelector('.drawer .facts');
      await endOtherLogins();
      await dialog.waitFor();
      assert.equal(await page.locator('.table-row a').count(), 1);
    });

    await step('until the login nothing is asked for', async () => {
      // What was asked for when the login ended may still be refused; to ask for the number is counted, too.
      let before = await requests(/./);
      for (let last = 0; before !== last + 1; ) {
        last = before;
        await page.waitForTimeout(300);
        before = await requests(/./);
      }
      await ended(other, 'POST', '/processes/login/one/operate', { op: 'start', hosts });
      await page.keyboard.press('Escape');
      await logInAgain('not the password');
      await dialog.locator('[role=alert]').waitFor();
      // The operation, its result, the login that was refused, and to ask for the number.
      assert.equal((await requests(/./)) - before, 4);
      assert.equal(await dialog.count(), 1, 'Escape does not close it');
    });

    await step('after it filter, selection and drawer are as they were, and the rows are new', async () => {
      const address = page.url();
      await logInAgain(password);
      await dialog.waitFor({ state: 'detached' });
      await page.waitForSelector('.live-on');
      await page.waitForSelector('.table-row .state:has-text("running")');
      await page.waitForSelector('.drawer .state:has-text("running")');
      assert.equal(page.url(), address);
      assert.match(address, /ns=login.*open=/);
      assert.match((await page.textContent('.action-count')) ?? '', /^1/);
    });

    await step('an operation that met the end of the login is done after the next one, once', async () => {
      await page.keyboard.press('Escape');
      await page.keyboard.press('Shift+S');
      await page.waitForSelector('dialog .plan-facts');
      await endOtherLogins();
      await page.locator('dialog .button-danger').click();
      await logInAgain(password);
      await page.waitForSelector('dialog', { state: 'detached' });
      await page.waitForSelector('.table-row .state:has-text("stopped")');
      const { tasks } = await api(page, 'GET', '/tasks?op=stop&process=login/one');
      assert.equal(tasks.length, 1);
    });
  });
});
