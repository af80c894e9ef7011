// Batches with a canary: an operation whose canary fails stops there and is retried; a definition that fails is taken back.
import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import {
  api,
  ask,
  axeClean,
  connectedHosts,
  ended,
  fitsWidth,
  flow,
  folder,
  go,
  LOOP,
  logIn,
  openPage,
  specOf,
  step,
  until,
  withProcess,
} from './harness.mjs';

await flow(async browser => {
  await ask('four-agents');
  const page = await openPage(browser);
  await logIn(page, '/ui/processes');
  const broken = `${folder}/roll-is-broken`;
  const hosts = await connectedHosts(page, 4);
  assert.equal(hosts.length, 4);
  const field = label => page.locator('dialog').getByLabel(label, { exact: true });
  const jobOf = () => page.url().match(/\/ops\/job\/(\d+)/)[1];
  const job = id => api(page, 'GET', `/jobs/${id}`);
  const over = async id => {
    await until(`the end of job ${id}`, async () => ['failed', 'succeeded'].includes((await job(id)).status));
    return await job(id);
  };
  const versions = async () => (await api(page, 'GET', '/processes/roll/web/versions')).versions;
  const pids = async () => {
    const { processes } = await api(page, 'GET', '/processes?namespace=roll');
    return new Map(processes.map(one => [one.host, one.pid]));
  };
  const running = () =>
    until('four that run', async () => (await api(page, 'GET', '/processes?namespace=roll&state=running')).count === 4);

  // All agents are on this machine, so each process has a pid file of its own: the hosts have different definitions.
  const spec = host => specOf(`roll-${host}`, `[ -e ${broken} ] && exit 3; ${LOOP}`);
  await withProcess(page, 'roll/web', hosts, spec, { tier: 'front' }, async () => {
    await ended(page, 'POST', '/processes/roll/web/operate', { op: 'start', all: true });
    await running();

    await step('the dialog says in words what the settings do', async () => {
      await go(page, '/ui/processes?ns=roll');
      await page.waitForFunction(() => document.querySelectorAll('.table-row a').length === 4);
      await page.keyboard.press('a');
      await page.keyboard.press('r');
      await page.locator('.plan-roll input[type=checkbox]').check();
      const said = () => page.textContent('.plan-steps');
      assert.match((await said()) ?? '', /First 1 as a canary, then 3 batches of 1\./);
      await field('Batch').fill('50%');
      assert.match((await said()) ?? '', /then 2 batches of up to 2\..*run for 10 s without a restart/);
      await field('Pause between batches').fill('1m');
      assert.match((await said()) ?? '', /1 min between two batches\./);
      await field('Order').selectOption('label');
      await page.waitForSelector('.field-wrong >> text=is required');
      assert.equal(await page.locator('.plan-steps').count(), 0, 'what cannot be read is not described');
      assert.equal(await page.locator('dialog .button-primary').getAttribute('aria-disabled'), 'true');
      await field('Label').fill('zone');
      assert.match((await said()) ?? '', /One value of zone after the other/);
      await field('Isolation').selectOption('host');
      assert.match((await said()) ?? '', /Each host has batches, canary and failures of its own/);
      await axeClean(page, 'the dialog with batches');
      await fitsWidth(page, 'the dialog with batches');
    });

    await step('a canary that fails stops the rest', async () => {
      writeFileSync(broken, '');
      const before = await pids();
      await field('Order').selectOption('host');
      await field('Isolation').selectOption('business');
      await field('Pause between batches').fill('0s');
      await field('For').fill('1s');
      await field('Failures allowed').fill('3');
      await page.locator('dialog .button-primary').click();
      await page.locator('.toast a').click();
      await page.waitForURL('**/ui/ops/job/**');
      const { options, counts } = await over(jobOf());
      assert.deepEqual(
        [options.canary, options.batch_size, options.gate, options.max_failures, options.order],
        [1, 2, 'up:1s', 3, 'host'],
      );
      assert.equal(counts.failed, 4, 'one failed, three did not begin');
      await page.waitForSelector('.failure >> text=/earlier/');
      await page.locator('.operation-pace summary').click();
      assert.match((await page.textContent('.operation-pace')) ?? '', /If the canary fails, nothing more begins\./);
      const after = await pids();
      const same = [...before].filter(([host, pid]) => after.get(host) === pid);
      assert.equal(same.length, 3, 'the others run on');
    });

    await step('retry what failed and what had not begun', async () => {
      rmSync(broken);
      await page.locator('.page-head .button', { hasText: 'Retry failed' }).click();
      await page.waitForSelector('.page-head .state:has-text("succeeded")', { timeout: 60_000 });
      assert.equal((await job(jobOf())).counts.succeeded, 4);
      await running();
    });

    await step('a definition is edited, and its roll is refused by the canary', async () => {
      await go(page, '/ui/p/roll/web?tab=spec');
      await page.locator('.button', { hasText: 'Edit' }).click();
      await page.waitForURL('**/ui/p/roll/web/edit');
      await page.getByLabel('Start start_cmd').fill('echo no such table; exit 3');
      await page.waitForSelector('.definition-side .tone-good');
      await page.locator('.definition-side .button-primary').click();
      await page.waitForSelector('dialog .changes ins');
      await page.locator('dialog .note', { hasText: 'All of them get this one' }).waitFor();
      assert.ok(await page.getByLabel('If it fails, give the changed hosts back what they had').isChecked());
      await field('For').fill('1s');
      await axeClean(page, 'the dialog of an update');
      await page.locator('dialog .button-primary').click();
      await page.waitForURL('**/ui/ops/job/**');
    });

    await step('it is taken back by a further job', async () => {
      const first = jobOf();
      await over(first);
      const link = page.locator('a', { hasText: 'taken back by job' });
      await link.waitFor();
      await link.click();
      await page.waitForFunction(id => !location.pathname.endsWith(`/job/${id}`), first);
      const revert = await over(jobOf());
      assert.equal(revert.counts.failed, 0);
      await running();
      const held = (await versions()).filter(one => one.hosts > 0);
      assert.deepEqual(
        held.map(one => one.hosts),
        [1, 1, 1, 1],
        'each host has its own again',
      );
      for (const one of held) assert.match(one.spec.control.start_cmd, /roll-is-broken/);
    });
  });
});
