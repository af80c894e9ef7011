// A definition is changed as a form and as JSON; the server's refusal stands at its field; versions are rolled back, at once and in batches.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import {
  api,
  axeClean,
  connectedHosts,
  ended,
  expectMessage,
  flow,
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
  // Of definitions that are refused on purpose.
  expectMessage(/400/);
  const page = await openPage(browser);
  await logIn(page, '/ui/processes');
  const hosts = await connectedHosts(page, 1);
  const healthy = createServer((_, answer) => answer.end('all is well'));
  await new Promise(resolve => healthy.listen(0, '127.0.0.1', resolve));
  const { port } = healthy.address();
  const field = label => page.getByLabel(label, { exact: true });
  const section = name => page.getByRole('group', { name, exact: true });
  const refused = text => page.locator('.field-wrong', { hasText: text }).waitFor();
  const accepted = () => page.waitForSelector('.definition-side .tone-good');
  const review = () => page.locator('.definition-side .button-primary').click();
  const definition = async () => (await api(page, 'GET', '/processes/edit/web')).definitions[0];
  const state = async () => (await api(page, 'GET', '/processes/edit/web')).processes[0].state;

  try {
    await withProcess(page, 'edit/web', hosts, specOf('edit', LOOP), { tier: 'front' }, async () => {
      await ended(page, 'POST', '/processes/edit/web/operate', { op: 'start', all: true });

      await step('a probe is filled in, and each refusal stands at its field', async () => {
        await go(page, '/ui/p/edit/web/edit');
        await page.locator('.definition-jump .button', { hasText: 'Probes' }).click();
        const ready = section('Ready probe');
        await ready.locator('select').first().selectOption('http');
        await ready.getByLabel('Port http.port').fill('99999');
        await refused('must be from 1 to 65535');
        await ready.getByLabel('Port http.port').fill(String(port));
        await ready.getByLabel('Status http.status').fill('200, 2x');
        await refused('must be a status code');
        await ready.getByLabel('Status http.status').fill('200, 2xx');
        await ready.getByLabel('Body contains http.body').fill('is well');
        await ready.getByLabel('Interval, s interval').fill('1');
        await ready.getByLabel('Failures failures').fill('5');
        await ready.getByLabel('Then action').selectOption('none');
        await accepted();
        await axeClean(page, 'the form of a definition');
      });

      await step('restart, stop and after have their fields and their refusals', async () => {
        await section('Restart').getByLabel('Give up give_up').fill('sometimes');
        await refused('must be never');
        await section('Restart').getByLabel('Give up give_up').fill('never');
        await section('Stop').getByLabel('Signals signals').fill('SIGINT, KILL');
        await refused('must be one of SIGHUP');
        await section('Stop').getByLabel('Signals signals').fill('SIGINT, SIGTERM');
        await section('Schedule').getByLabel('Jitter, s jitter').fill('5');
        await refused('needs monitor_policy.auto_type 0');
        await section('Schedule').getByLabel('Jitter, s jitter').fill('');
        await page.locator('.button', { hasText: 'Add a process' }).click();
        await section('Dependency 1').getByLabel('Process process').fill('edit/web');
        await page.locator('.note-bad', { hasText: 'makes a cycle' }).first().waitFor();
        await section('Dependency 1').locator('.button', { hasText: 'Remove' }).click();
        await accepted();
      });

      await step('the same is in the JSON, where a broken text and a bad field are marked', async () => {
        await page.locator('.page-head .button', { hasText: 'JSON' }).click();
        const editor = page.locator('.cm-content');
        await editor.waitFor();
        assert.match((await page.textContent('.definition-side')) ?? '', /probes\.ready\.http\.body"is well"/);
        await editor.click();
        await page.keyboard.press('Control+Home');
        await page.keyboard.type('x');
        await page.locator('.note-bad', { hasText: 'This is no definition' }).waitFor();
        await page.locator('.definition-side .button', { hasText: 'Go to line 1' }).waitFor();
        await page.keyboard.press('Backspace');
        await accepted();
        // Among the first keys of the spec, which stand below the labels.
        await page.keyboard.press('Control+Home');
        for (let line = 1; line < 6; line++) await page.keyboard.press('ArrowDown');
        await page.keyboard.type('"probez": {},');
        await page.locator('.definition-wrong', { hasText: 'No spec has this key' }).waitFor();
        assert.match((await page.textContent('.definition-wrong')) ?? '', /probez: is unknown; there are identity/);
        await page.keyboard.press('Shift+Home');
        await page.keyboard.press('Delete');
        await accepted();
      });

      await step('it is applied at once, touches nothing, and a restart makes it ready', async () => {
        await review();
        await page.waitForSelector('dialog .changes');
        await field(
          'On all hosts at once: what runs is not touched, the change takes effect at its next start',
        ).check();
        assert.equal(await page.locator('dialog .plan-roll').count(), 0);
        await page.locator('dialog .button-primary').click();
        await page.waitForURL('**/ui/p/edit/web?tab=history');
        await page.waitForSelector('.operation-list li:nth-child(2)');
        const { spec, spec_version: version } = await definition();
        assert.equal(version, 2);
        assert.deepEqual(spec.probes, {
          ready: {
            http: { port, path: '/healthz', status: [200, '2xx'], body: 'is well' },
            interval: 1,
            failures: 5,
            action: 'none',
          },
        });
        assert.deepEqual([spec.restart, spec.stop], [{ give_up: 'never' }, { signals: ['SIGINT', 'SIGTERM'] }]);
        await ended(page, 'POST', '/processes/edit/web/operate', { op: 'restart', all: true });
        await until('ready', async () => (await state()) === 'ready');
      });

      await step('the page of the instance says ready, and its version', async () => {
        await go(page, `/ui/p/edit/web/${hosts[0]}`);
        await page.waitForSelector('.page-head .state >> text=ready');
        await page.locator('.facts a', { hasText: 'version 2' }).waitFor();
      });

      await step('roll back to the first version, in batches', async () => {
        await go(page, '/ui/p/edit/web?tab=history');
        const first = page.locator('.operation-list li', { hasText: 'version 1' });
        await first.locator('.button', { hasText: 'Roll back to it' }).click();
        await page.waitForSelector('dialog .changes del');
        await page.locator('dialog').getByLabel('For', { exact: true }).fill('1s');
        await axeClean(page, 'the dialog of a rollback');
        await page.locator('dialog .button-primary').click();
        await page.waitForURL('**/ui/ops/job/**');
        await page.waitForSelector('.page-head .state:has-text("succeeded")', { timeout: 60_000 });
        const { spec } = await definition();
        assert.equal(spec.probes, undefined);
        await until('running', async () => (await state()) === 'running');
      });

      await step('and forward again, at once', async () => {
        await go(page, '/ui/p/edit/web?tab=history');
        const second = page.locator('.operation-list li').filter({ hasText: /^version 2/ });
        await second.locator('.button', { hasText: 'Roll back to it' }).click();
        await page.waitForSelector('dialog .changes ins');
        await page.locator('dialog input[type=radio]').nth(1).check();
        await page.locator('dialog .button-primary').click();
        await page.waitForSelector('dialog[open]', { state: 'detached' });
        await page.locator('.operation-list li', { hasText: 'to version 2' }).waitFor();
        assert.ok((await definition()).spec.probes);
      });
    });
  } finally {
    healthy.close();
  }
});
