// The main flow with the keyboard alone, by Tab and shortcuts: log in, find, select all that match, restart in batches, follow,
// retry what failed. No step clicks or sets the focus.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import {
  api,
  ask,
  connectedHosts,
  expectMessage,
  flow,
  folder,
  go,
  LOOP,
  openPage,
  password,
  specOf,
  step,
  tabTo,
  user,
  withProcess,
} from './harness.mjs';

const repaired = `${folder}/repaired`;
const STEADY = LOOP;
const BROKEN = `[ -e ${repaired} ] || { echo no such table; exit 3; }; ${STEADY}`;

await flow(async browser => {
  await ask('four-agents');
  const page = await openPage(browser);
  const { keyboard } = page;
  let clicks = 0;
  await page.exposeFunction('countClick', () => clicks++);
  await page.addInitScript(() => addEventListener('pointerdown', () => globalThis.countClick(), true));

  await step('log in', async () => {
    expectMessage(/401/);
    await go(page, '/ui/processes');
    await page.waitForSelector('input[name=username]:focus');
    await keyboard.type(user);
    await keyboard.press('Tab');
    await keyboard.type(password);
    await keyboard.press('Enter');
    await page.waitForURL('**/ui/processes');
    await page.waitForSelector('.live-on');
  });

  const hosts = await connectedHosts(page, 4);
  assert.equal(hosts.length, 4);
  const specs = host => specOf(`web-${host}`, host === hosts[3] ? BROKEN : STEADY);
  await withProcess(page, 'flow/web', hosts, specs, {}, async () => {
    await step('find', async () => {
      await keyboard.press('/');
      await keyboard.type('ns:flow');
      await keyboard.press('Enter');
      await page.waitForURL('**/ui/processes?ns=flow');
      await page.waitForFunction(() => document.querySelectorAll('.table-row a').length === 4);
      await keyboard.press('Escape');
      await keyboard.press('Escape');
    });

    await step('select all that match', async () => {
      await keyboard.press('a');
      await page.waitForFunction(() => /^4/.test(document.querySelector('.action-count')?.textContent ?? ''));
    });

    await step('restart in batches of two', async () => {
      await keyboard.press('r');
      await page.waitForSelector('dialog .plan-roll');
      await tabTo(page, '.plan-roll input[type=checkbox]', 'Shift+Tab');
      await keyboard.press('Space');
      // Canary, batch, pause, gate, how long, failures.
      for (const text of ['', '2', '3s', '', '1s', '4']) {
        await keyboard.press('Tab');
        if (text) await keyboard.type(text);
        else await keyboard.press('Delete');
      }
      await tabTo(page, 'dialog .button-primary');
      await keyboard.press('Enter');
      await page.waitForSelector('dialog[open]', { state: 'detached' });
    });

    await step('follow', async () => {
      await tabTo(page, '.toast a');
      await keyboard.press('Enter');
      await page.waitForURL('**/ui/ops/job/**');
      await page.waitForSelector('.page-head >> text=/batch [12] of 2/');
      await page.waitForSelector('.page-head .state:has-text("failed")');
      assert.match((await page.textContent('.operation-counts')) ?? '', /3 done.*1 failed/);
      const { tasks } = await api(page, 'GET', page.url().replace(/.*ui.ops.job/, '/jobs'));
      const [first, second, third] = tasks.sort((a, b) => a.started_at - b.started_at);
      assert.ok(third.started_at >= Math.max(first.ended_at, second.ended_at), 'the second batch waits for the first');
    });

    await step('read why one failed', async () => {
      await tabTo(page, '.failure .button:has-text("Show these")');
      await keyboard.press('Enter');
      await page.waitForURL('**status=failed**');
      await page.waitForFunction(() => document.querySelectorAll('.table-row').length === 1);
      await keyboard.press('j');
      await keyboard.press('Enter');
      await page.waitForSelector('.drawer .output');
      assert.match((await page.textContent('.drawer')) ?? '', /no such table/);
      await keyboard.press('Escape');
      await page.waitForSelector('.drawer', { state: 'detached' });
    });

    await step('retry what failed', async () => {
      writeFileSync(repaired, '');
      await tabTo(page, '.page-head .button:has-text("Retry failed")', 'Shift+Tab');
      await keyboard.press('Enter');
      await page.waitForSelector('.page-head .state:has-text("succeeded")');
      assert.match((await page.textContent('.operation-counts')) ?? '', /4 done/);
      await keyboard.press('g');
      await keyboard.press('p');
      await page.waitForURL('**/ui/processes');
      const { count } = await api(page, 'GET', '/processes?namespace=flow&state=running');
      assert.equal(count, 4);
    });
    assert.equal(clicks, 0);
  });
});
