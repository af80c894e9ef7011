// Operations: what goes on appears, a task is found by filters, opened, and its result read.
import assert from 'node:assert/strict';
import { api, connectedHosts, ended, flow, go, LOOP, logIn, openPage, specOf, step, withProcess } from './harness.mjs';

await flow(async browser => {
  const page = await openPage(browser);
  await logIn(page, '/ui/ops');
  const hosts = await connectedHosts(page, 1);
  const name = `console/fails-${process.pid}`;
  const spec = specOf(`fails-${process.pid}`, 'echo no such table; exit 1');
  await withProcess(page, name, hosts, spec, {}, async () => {
    await step('a new operation is announced, and shown when asked for', async () => {
      await go(page, '/ui/ops');
      await page.waitForSelector('.table-row, .placeholder');
      await page.waitForSelector('.top:has-text("live")');
      const { task_id: task } = await api(page, 'POST', `/processes/${name}/operate`, { op: 'start', all: true });
      await page.locator('.list-head .button', { hasText: 'new, reload' }).click();
      await page.waitForSelector(`.table-row a[href$="${name}"]`);
      await api(page, 'GET', `/tasks/${encodeURIComponent(task)}?wait=30s`);
      await page.waitForFunction(
        href =>
          document
            .querySelector(`.table-row a[href$="${href}"]`)
            ?.closest('.table-row')
            ?.textContent.includes('failed'),
        name,
      );
    });

    await step('filters are in the address, and back takes them off', async () => {
      await page.selectOption('select[aria-label=Result]', 'failed');
      await page.waitForURL('**/ui/ops?status=failed');
      await page.locator('.list-head .button', { hasText: 'Tasks' }).click();
      await page.waitForURL('**/ui/ops?kind=task&status=failed');
      await page.waitForSelector(`.table-row a[href$="${name}"]`);
      assert.equal(await page.locator('.table-row', { hasText: 'succeeded' }).count(), 0);
      await page.goBack();
      await page.waitForURL('**/ui/ops?status=failed');
    });

    await step('an operation says why it failed', async () => {
      await page
        .locator('.table-row', { has: page.locator(`a[href$="${name}"]`) })
        .locator('a')
        .first()
        .click();
      await page.waitForURL('**/ui/ops/task/**');
      await page.waitForSelector('.failures li');
      await page.locator('.failures .button', { hasText: 'Show these' }).first().click();
      await page.waitForURL('**code=**');
      await page.locator('.table-row').first().click();
      await page.waitForSelector('.drawer');
      assert.match((await page.textContent('.drawer')) ?? '', /no such table/);
    });
  });

  await withProcess(page, 'console/runs', hosts, specOf('runs', LOOP), {}, () =>
    step('a start of what runs is no failure', async () => {
      await ended(page, 'POST', '/processes/console/runs/operate', { op: 'start', all: true });
      const again = await ended(page, 'POST', '/processes/console/runs/operate', { op: 'start', all: true });
      await go(page, '/ui/ops?kind=task');
      await page.locator('.table-row', { hasText: 'console/runs' }).nth(1).waitFor();
      assert.equal(await page.locator('.table-row', { hasText: 'console/runs' }).locator('.tone-bad').count(), 0);
      await go(page, `/ui/ops/task/${again}`);
      await page.waitForSelector('.table-row .state:has-text("already so")');
      assert.equal(await page.textContent('.operation-counts'), '1 done');
      assert.equal(await page.locator('.failures').count(), 0);
    }),
  );
});
