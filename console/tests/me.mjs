// Own settings: a password is changed, other logins end, and how the console looks and works is kept.
import assert from 'node:assert/strict';
import { api, expectMessage, flow, go, logIn, openPage, openTab, step } from './harness.mjs';

await flow(async browser => {
  // Of a wrong password, and of logins that have ended.
  expectMessage(/40[0-9]/);
  const admin = await openPage(browser);
  await logIn(admin);
  const name = 'mia';
  const first = 'the first password';
  const second = 'the second password';
  await api(admin, 'POST', '/users', { name, password: first, grants: [{ role: 'operator', namespaces: ['shop'] }] });
  const page = await openPage(browser);
  await logIn(page, '/ui/me', { name, secret: first });

  const change = async (old, fresh, again = fresh) => {
    await page.getByLabel('Present password').fill(old);
    await page.getByLabel('New password', { exact: true }).fill(fresh);
    await page.getByLabel('New password once more').fill(again);
    await page.locator('.me-password .button').click();
  };

  await step('the page says who it is, and with which roles', async () => {
    await page.waitForSelector('.me .facts');
    assert.match((await page.textContent('.me .facts')) ?? '', /mia.*operator.*shop/);
  });

  await step('other logins are listed and ended', async () => {
    const other = await openPage(browser);
    await logIn(other, '/ui/hosts', { name, secret: first });
    await other.waitForSelector('.live-on');
    await page.reload();
    await page.locator('.me-logins .button').click();
    await page.waitForFunction(() => document.querySelectorAll('.me-logins li').length === 1);
    await other.waitForSelector('dialog[open] input[name=password]');
    await other.context().close();
  });

  await step('a password is changed with the old one, and only then', async () => {
    await change(first, second, 'something else');
    const differ = await page.textContent('.me-password [role=alert]');
    await change('not the password', second);
    await page.waitForFunction(
      before => (document.querySelector('.me-password [role=alert]')?.textContent ?? before) !== before,
      differ,
    );
    await change(first, second);
    await page.waitForSelector('.me-password [role=status]');
    const other = await openPage(browser);
    await logIn(other, '/ui/', { name, secret: second });
    await other.context().close();
  });

  await step('language, theme and shortcuts are chosen here, and kept', async () => {
    await page.locator('.me-row .button', { hasText: '中文' }).click();
    await page.locator('.me-row .button', { hasText: '深色' }).click();
    await page.locator('.me-keys input').uncheck();
    const later = await openTab(page);
    await go(later, '/ui/me');
    await later.waitForSelector('.me .facts');
    assert.equal(await later.getAttribute('html', 'lang'), 'zh-CN');
    assert.equal(await later.getAttribute('html', 'data-theme'), 'dark');
    await later.keyboard.press('g');
    await later.keyboard.press('h');
    await later.keyboard.press('?');
    assert.equal(await later.locator('dialog').count(), 0);
    assert.match(later.url(), /\/ui\/me$/);
    await later.keyboard.press('Control+k');
    await later.waitForSelector('dialog [role=combobox]');
  });
});
