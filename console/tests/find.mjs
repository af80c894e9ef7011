// Find a process by keyboard, open it beside the list, go to its page and back; the address holds everything.
import assert from 'node:assert/strict';
import { flow, go, logIn, openPage, step } from './harness.mjs';

await flow(
  async browser => {
    const page = await openPage(browser);
    await logIn(page, '/ui/processes');
    await page.waitForSelector('.table-row');
    const name = ((await page.locator('.table-row a').first().textContent()) ?? '').trim();
    const [namespace, short] = name.split('/');

    await step('the filter narrows the list, and the address says so', async () => {
      await page.keyboard.press('/');
      await page.keyboard.type(`ns:${namespace}`);
      await page.keyboard.press('Enter');
      await page.waitForURL(`**/ui/processes?ns=${namespace}`);
      await page.waitForSelector('.filter-chip');
      await page.keyboard.type(`name:${short}`);
      await page.keyboard.press('Enter');
      await page.waitForURL(`**/ui/processes?ns=${namespace}&name=${short}`);
      await page.waitForFunction(
        wanted => [...document.querySelectorAll('.table-row a')].every(one => one.textContent?.trim() === wanted),
        name,
      );
    });

    await step('j and Enter open the first row beside the list, Escape closes it', async () => {
      await page.keyboard.press('Escape');
      await page.keyboard.press('Escape');
      await page.keyboard.press('j');
      await page.keyboard.press('Enter');
      await page.waitForSelector('.drawer .facts');
      assert.match(page.url(), /open=/);
      await page.keyboard.press('Escape');
      await page.waitForSelector('.drawer', { state: 'detached' });
    });

    await step('a link shows the same to another person', async () => {
      await page.keyboard.press('Enter');
      await page.waitForSelector('.drawer .facts');
      const link = page.url();
      const other = await openPage(browser);
      await logIn(other, link.slice(link.indexOf('/ui/')));
      await other.waitForSelector('.drawer .facts');
      assert.equal(other.url(), link);
      assert.equal(await other.locator('.filter-chip').count(), 2);
      await other.context().close();
    });

    await step('Ctrl+K finds the page of the process', async () => {
      await go(page, '/ui/');
      await page.waitForSelector('.page');
      await page.keyboard.press('Control+k');
      await page.waitForSelector('dialog [role=combobox]');
      await page.keyboard.type(name);
      await page.locator('[role=option]', { hasText: name }).first().click();
      await page.waitForURL(/\/ui\/(p|processes)/);
    });

    await step('back leads to where it came from', async () => {
      await page.goBack();
      await page.waitForURL(/\/ui\/$/);
    });
  },
  { sample: true },
);
