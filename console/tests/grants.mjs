// A role for processes with some labels: granted, shown, what its user sees and may do, revoked.
import assert from 'node:assert/strict';
import {
  api,
  axeClean,
  connectedHosts,
  expectMessage,
  flow,
  go,
  LOOP,
  logIn,
  openPage,
  specOf,
  step,
  withProcess,
} from './harness.mjs';

await flow(async browser => {
  // Of the selector that is refused on purpose.
  expectMessage(/40[0-9]/);
  const page = await openPage(browser);
  await logIn(page, '/ui/admin/users');
  const name = `console-labels-${process.pid}`;
  const secret = 'only the front, never the back';
  const hosts = await connectedHosts(page, 1);
  const dialog = page.locator('dialog[open]');
  await api(page, 'POST', '/users', { name, password: secret, grants: [{ role: 'viewer', namespaces: ['nothing'] }] });

  await withProcess(page, 'labels/front', hosts, specOf('front', LOOP), { tier: 'front' }, () =>
    withProcess(page, 'labels/back', hosts, specOf('back', LOOP), { tier: 'back' }, async () => {
      await step('a selector that wants no label is refused', async () => {
        await go(page, `/ui/admin/users?open=${name}`);
        await page.locator('.drawer .button', { hasText: 'Grant' }).click();
        await dialog.locator('select').selectOption('operator');
        await dialog.getByLabel('Only processes with labels', { exact: true }).fill('tier!=back');
        await dialog.locator('text=It covers nothing that changes labels').waitFor();
        await dialog.locator('.button-primary').click();
        await dialog.locator('.note-bad', { hasText: 'label' }).waitFor();
      });

      await step('a role is granted by labels, and shown so', async () => {
        await dialog.getByLabel('Only processes with labels', { exact: true }).fill('tier=front');
        await axeClean(page, 'the form of a grant');
        await dialog.locator('.button-primary').click();
        await page.locator('.admin-grants li', { hasText: 'only tier=front' }).waitFor();
        await page.locator('.table-row', { hasText: name }).locator('text=only tier=front').waitFor();
      });

      await step('its user sees and operates these processes and no others', async () => {
        const other = await openPage(browser);
        await logIn(other, '/ui/processes', { name, secret });
        await other.waitForSelector('.table-row a');
        assert.deepEqual(await other.locator('.table-row a').allTextContents(), ['labels/front']);
        await go(other, `/ui/p/labels/front/${hosts[0]}`);
        const start = other.locator('.page-head').getByRole('button', { name: 'Start', exact: true });
        await start.waitFor();
        await start.click();
        await other.locator('dialog .button-primary').click();
        await other.waitForSelector('.page-head .state >> text=running', { timeout: 40_000 });
        await go(other, '/ui/p/labels/front?tab=spec');
        const edit = other.locator('.button', { hasText: 'Edit' });
        await edit.waitFor();
        assert.equal(await edit.getAttribute('aria-disabled'), 'true', 'a grant by labels changes no definition');
        await other.context().close();
      });

      await step('it is revoked', async () => {
        await page.locator('.admin-grants li', { hasText: 'tier=front' }).locator('.button').click();
        await page.locator('.admin-grants li', { hasText: 'tier=front' }).waitFor({ state: 'detached' });
        await api(page, 'DELETE', `/users/${name}`);
      });
    }),
  );
});
