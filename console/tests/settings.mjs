// Language and theme change at once and stay; shortcuts can be switched off.
import assert from 'node:assert/strict';
import { flow, go, logIn, openPage, step } from './harness.mjs';

await flow(async browser => {
  const page = await openPage(browser);
  await logIn(page, '/ui/processes');
  const choose = async text => {
    await page.click('.user-menu button');
    await page.locator('.user-menu [role^=menuitem]', { hasText: text }).click();
  };

  await step('Chinese and back', async () => {
    await choose('中文');
    await page.waitForFunction(() => document.querySelector('h1')?.textContent === '进程');
    assert.equal(await page.getAttribute('html', 'lang'), 'zh-CN');
    await page.reload();
    await page.waitForFunction(() => document.querySelector('h1')?.textContent === '进程');
    await choose('English');
    await page.waitForFunction(() => document.querySelector('h1')?.textContent === 'Processes');
  });

  await step('dark and light', async () => {
    const background = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    const light = await background();
    await choose('Dark');
    assert.notEqual(await background(), light);
    await page.reload();
    await page.waitForSelector('.shell');
    assert.notEqual(await background(), light);
    await choose('As the system');
    assert.equal(await background(), light);
  });

  await step('shortcuts go to pages, and can be switched off', async () => {
    await page.keyboard.press('g');
    await page.keyboard.press('h');
    await page.waitForURL('**/ui/hosts');
    await page.keyboard.press('?');
    await page.waitForSelector('.help');
    await page.locator('.help-switch input').uncheck();
    await page.keyboard.press('Escape');
    await page.keyboard.press('g');
    await page.keyboard.press('p');
    assert.match(page.url(), /\/ui\/hosts$/);
    await go(page, '/ui/hosts');
  });
});
