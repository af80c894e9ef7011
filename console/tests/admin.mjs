// Users with roles, secrets that are shown once, deletion after a question; a viewer is told which role is missing.
import assert from 'node:assert/strict';
import { api, expectMessage, flow, go, logIn, openPage, step } from './harness.mjs';

await flow(async browser => {
  // Of the password that is refused on purpose.
  expectMessage(/40[0-9]/);
  const page = await openPage(browser);
  const name = `console-${process.pid}`;
  const secret = 'only looks, does not touch';
  await logIn(page, '/ui/admin/users');
  const field = label => page.getByLabel(label, { exact: true });
  const press = text => page.locator('dialog[open] .button', { hasText: text }).click();
  const gone = () => page.waitForSelector('dialog[open]', { state: 'detached' });

  await step('a user is made with a role in one namespace', async () => {
    await page.locator('.list-head .button-primary').click();
    await field('Name').fill(name);
    await field('Password').fill(secret);
    await page.locator('dialog select').selectOption('operator');
    await field('Namespaces').fill('shop, web');
    await press('Create');
    await gone();
    const row = page.locator('.table-row', { hasText: name });
    await row.waitFor();
    assert.match((await row.textContent()) ?? '', /operator: namespaces shop, web/);
  });

  await step('a role is granted and revoked', async () => {
    await page.locator('.table-row', { hasText: name }).click();
    await page.locator('.drawer .button', { hasText: 'Grant' }).click();
    await press('Grant');
    await gone();
    await page.waitForFunction(() => document.querySelectorAll('.admin-grants li').length === 2);
    await page.locator('.admin-grants li', { hasText: 'operator' }).locator('.button').click();
    await page.waitForFunction(() => document.querySelectorAll('.admin-grants li').length === 1);
  });

  await step('that user is told which role is missing', async () => {
    const other = await openPage(browser);
    await logIn(other, '/ui/admin/users', { name, secret });
    await other.waitForSelector('.placeholder');
    assert.match((await other.textContent('.placeholder')) ?? '', /role admin/);
    assert.equal(await other.locator('.nav a[href*=admin]').count(), 0);
    await other.context().close();
  });

  await step('a join token is shown once', async () => {
    await go(page, '/ui/admin/tokens');
    await page.locator('.list-head .button-primary').click();
    await press('Create');
    await page.waitForSelector('.admin-secret');
    const token = await page.locator('.admin-secret code').first().textContent();
    assert.match(
      (await page.locator('.admin-secret code').last().textContent()) ?? '',
      /^curl -fsS http:.*install\.sh \| sh -s -- --token /,
    );
    await press('Done');
    await gone();
    assert.ok(token && !(await page.content()).includes(token), 'it is nowhere in the page');
    const { tokens } = await api(page, 'GET', '/tokens');
    const newest = tokens.sort((a, b) => b.created_at - a.created_at)[0];
    await page.locator('.table-row', { hasText: newest.id }).click();
    await page.locator('.drawer .button-danger').click();
    await press('Delete');
    await page.locator('.table-row', { hasText: newest.id }).waitFor({ state: 'detached' });
  });

  await step('a webhook that does not answer says so in its test', async () => {
    await go(page, '/ui/admin/webhooks');
    await page.locator('.list-head .button-primary').click();
    await field('Address').fill('http://127.0.0.1:9/console-test');
    await press('Create');
    await page.waitForSelector('.admin-secret');
    await press('Done');
    await page.locator('.table-row', { hasText: 'console-test' }).first().click();
    await page.locator('.drawer .button', { hasText: 'Send a test' }).click();
    await page.waitForSelector('.drawer .note-bad');
    await page.locator('.drawer .button-danger').click();
    await press('Delete');
    await page.locator('.table-row', { hasText: 'console-test' }).waitFor({ state: 'detached' });
  });

  await step('the user is deleted, after a question', async () => {
    await go(page, `/ui/admin/users?open=${name}`);
    await page.locator('.drawer .button-danger').click();
    await press('Cancel');
    await gone();
    await page.locator('.drawer .button-danger').click();
    await press('Delete');
    await page.locator('.table-row', { hasText: name }).waitFor({ state: 'detached' });
    await go(page, `/ui/admin/audit?object=${name}`);
    await page.waitForSelector('.table-row');
    await page.locator('.table-row').first().click();
    await page.waitForSelector('.drawer .facts');
  });
});
