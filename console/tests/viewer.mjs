// A viewer sees everything and no button that works; each says why. Needs an admin, who makes the viewer and deletes them again.
import assert from 'node:assert/strict';
import { api, expectMessage, flow, go, logIn, openPage, step } from './harness.mjs';

await flow(
  async browser => {
    const admin = await openPage(browser);
    await logIn(admin, '/ui/processes');
    await admin.waitForSelector('.table-row a');
    const name = `viewer-${process.pid}`;
    const secret = 'only looks, does not touch';
    await api(admin, 'POST', '/users', { name, password: secret, grants: [{ role: 'viewer' }] });
    try {
      const page = await openPage(browser);
      await logIn(page, '/ui/processes', { name, secret });
      await page.waitForSelector('.table-row a');

      await step('the action bar says that the role is missing', async () => {
        await page.locator('.table-row input').first().click();
        const buttons = page.locator('.action-bar .button[aria-disabled=true]');
        assert.equal(await buttons.count(), 3);
        assert.match((await buttons.first().getAttribute('title')) ?? '', /role/);
        await page.keyboard.press('s');
        assert.equal(await page.locator('dialog[open]').count(), 0);
      });

      await step('the page of a process does, too', async () => {
        await page.locator('.table-row a').first().click();
        await page.waitForSelector('.page-head .button');
        assert.equal(await page.locator('.page-head .button[aria-disabled=true]').count(), 3);
      });

      await step('the server refuses it anyway', async () => {
        expectMessage(/403/);
        const status = await page.evaluate(async () => {
          const row = (await fetch('/api/v1/processes?limit=1').then(one => one.json())).processes[0];
          const body = JSON.stringify({ op: 'stop', hosts: [row.host] });
          const headers = { 'content-type': 'application/json' };
          return (
            await fetch(`/api/v1/processes/${row.namespace}/${row.name}/operate`, { method: 'POST', headers, body })
          ).status;
        });
        assert.equal(status, 403);
      });
      await go(page, '/ui/');
    } finally {
      await api(admin, 'DELETE', `/users/${name}`);
    }
  },
  { sample: true },
);
