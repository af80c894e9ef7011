// A config file from its template to the host: made, bound, generated, compared, rolled out with a restart.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { BUSINESS, makeBusiness } from './business-data.mjs';
import { api, flow, folder, go, logIn, openPage, step } from './harness.mjs';

await flow(async browser => {
  const page = await openPage(browser);
  await logIn(page, '/ui/b');
  await makeBusiness(page);
  const press = name => page.getByRole('button', { name, exact: true }).click();
  const chat = async () => {
    const { processes } = await api(page, 'GET', `/processes?name=chat_1`);
    return processes[0];
  };
  /** From the range to the end of the job; `files` looks at what would change. */
  const release = async files => {
    await go(page, `/ui/b/${BUSINESS}/release?name=chat`);
    await page.waitForSelector('main >> text=/^1 process$/');
    await press('Next');
    await page.locator('.table-row').first().click();
    await files();
    await press('Next');
    await page.getByLabel('Restart it').check();
    await press('Release to 1');
    await page.waitForSelector('dialog .plan-facts');
    await page.locator('dialog footer .button').last().click();
    await page.waitForSelector('dialog', { state: 'detached' });
    await page.locator('.toast a').first().click();
    await page.waitForURL('**/ui/ops/job/**');
    await page.waitForSelector('.page-head .state:has-text("succeeded")', { timeout: 60_000 });
  };
  /** A line of the difference that is shown. */
  const lineOf = text => page.locator('.card-body .cm-line', { hasText: text }).first().waitFor();
  const write = async text => {
    await page.locator('.cm-content').fill(text);
    await press('Save and activate');
    await page.waitForSelector('.toast-good');
  };
  const file = `${folder}/flow-chat-1.conf`;
  let template = '';

  await step('a template is made, written and activated', async () => {
    await go(page, `/ui/b/${BUSINESS}/templates`);
    await page.locator('.page .button', { hasText: 'New template' }).click();
    const fields = page.locator('dialog .input');
    await fields.nth(0).fill('chat.conf');
    await fields.nth(1).fill(folder);
    await fields.nth(2).fill(`flow-chat-\${LocalInstID}.conf`);
    await page.locator('dialog .button-primary').click();
    await page.waitForURL(/templates\/\d+$/);
    template = new URL(page.url()).pathname;
    await write(`name = \${bk_process_name}\nport = 8001\n`);
  });

  await step('it is bound to a process', async () => {
    await page.locator('.tabs a', { hasText: 'Bindings' }).click();
    await page.locator('.template-bindings label', { hasText: 'chat' }).locator('input').check();
    await press('Save bindings');
    await page.waitForSelector('.toast-good:has-text("Bound to 1")');
  });

  await step('a new file is shown, released, and the process restarted', async () => {
    await release(async () => {
      await page.waitForSelector('main >> text=/1 of 1 files would change/');
      await lineOf('port = 8001');
    });
    assert.equal(readFileSync(file, 'utf8'), 'name = chat\nport = 8001\n');
    assert.equal((await chat()).state, 'running');
  });

  await step('a change is shown as a difference, and released the same way', async () => {
    const before = (await chat()).pid;
    await go(page, template);
    await write(`name = \${bk_process_name}\nport = 8002\n`);
    await release(async () => {
      await lineOf('port = 8002');
      await lineOf('port = 8001');
    });
    assert.equal(readFileSync(file, 'utf8'), 'name = chat\nport = 8002\n');
    const now = await chat();
    assert.equal(now.state, 'running');
    assert.notEqual(now.pid, before);
  });
});
