// Select all that match, confirm with its consequences, stay on the list, read why some failed, retry them.
import assert from 'node:assert/strict';
import {
  api,
  axeClean,
  connectedHosts,
  flow,
  LOOP,
  logIn,
  openPage,
  specOf,
  step,
  until,
  withProcess,
} from './harness.mjs';

await flow(async browser => {
  const page = await openPage(browser);
  await logIn(page, '/ui/processes');
  const hosts = await connectedHosts(page, 5);
  const one = hosts.slice(0, 1);

  await withProcess(page, 'flow/steady', one, specOf('steady', LOOP), {}, () =>
    withProcess(page, 'flow/broken', one, specOf('broken', 'echo no such table; exit 3'), {}, async () => {
      await step('find', async () => {
        await page.keyboard.press('/');
        await page.keyboard.type('ns:flow');
        await page.keyboard.press('Enter');
        await page.waitForFunction(() => document.querySelectorAll('.table-row a').length === 2);
        await page.keyboard.press('Escape');
        await page.keyboard.press('Escape');
      });

      await step('select all that match, less one exception', async () => {
        await page.keyboard.press('a');
        await page.waitForSelector('.action-bar');
        assert.match((await page.textContent('.action-count')) ?? '', /^2/);
        await page.keyboard.press('j');
        await page.keyboard.press('x');
        assert.match((await page.textContent('.action-count')) ?? '', /^1/);
        await page.keyboard.press('x');
        assert.match((await page.textContent('.action-count')) ?? '', /^2/);
      });

      await step('the confirmation says what will happen', async () => {
        await page.keyboard.press('s');
        await page.waitForSelector('dialog .plan-facts');
        const plan = (await page.textContent('dialog')) ?? '';
        assert.match(plan, /no such table/, 'the command is shown');
        await axeClean(page, 'the confirmation');
        await page.keyboard.press('Tab');
        const focused = await page.evaluate(() => document.activeElement?.closest('dialog') !== null);
        assert.ok(focused, 'the focus stays in the dialog');
      });

      await step('after acting the list stays, and a toast follows', async () => {
        await page.locator('dialog .button-primary').focus();
        await page.keyboard.press('Enter');
        await page.waitForSelector('dialog[open]', { state: 'detached' });
        await page.waitForSelector('.toast-bad', { timeout: 40_000 });
        assert.equal(await page.locator('.table-row a').count(), 2);
      });

      await step('rows changed in place while it ran', async () => {
        const states = await page.locator('.table-row .state').allTextContents();
        assert.deepEqual(states.map(state => state.trim()).sort(), ['failed', 'running']);
      });

      await step('the operation groups failures and shows the output', async () => {
        await page.locator('.toast a').focus();
        await page.keyboard.press('Enter');
        await page.waitForURL('**/ui/ops/task/**');
        await page.waitForSelector('.failure');
        await page.locator('.failure .button').first().focus();
        await page.keyboard.press('Enter');
        await page.waitForURL('**status=failed**');
        await page.waitForFunction(
          () =>
            document.querySelectorAll('.table-row a').length > 0 &&
            document.querySelectorAll('.table-row').length === 1,
        );
        await page.keyboard.press('j');
        await page.keyboard.press('Enter');
        await page.waitForSelector('.drawer .output');
        assert.match((await page.textContent('.drawer')) ?? '', /no such table/);
        await page.keyboard.press('Escape');
      });

      await step('retry what failed', async () => {
        await api(page, 'PUT', '/processes/flow/broken', {
          hosts: one,
          spec: specOf('broken', LOOP),
          labels: {},
        });
        await page.locator('.page-head .button', { hasText: 'Retry failed' }).focus();
        await page.keyboard.press('Enter');
        await page.waitForSelector('.toast-good');
        await page.keyboard.press('g');
        await page.keyboard.press('p');
        await page.waitForURL('**/ui/processes');
        await until('two running processes', async () => {
          const { count } = await api(page, 'GET', '/processes?namespace=flow&state=running');
          return count === 2;
        });
      });
    }),
  );
});
