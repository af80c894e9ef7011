// Config templates are made, changed and deleted; the release shows all files that it would change, by page.
import assert from 'node:assert/strict';
import { api, connectedHosts, expectMessage, flow, folder, go, logIn, openPage, step } from './harness.mjs';

const BUSINESS = 8;
/** More than one page of the table. */
const INSTANCES = 203;

await flow(async browser => {
  // Deleting what the page shows, and a name that is taken.
  expectMessage(/404|409/);
  const page = await openPage(browser);
  await logIn(page, '/ui/b');
  const [host] = await connectedHosts(page, 1);
  const wide = {
    bk_process_name: 'wide',
    bk_func_name: 'sleep',
    proc_num: INSTANCES,
    user: process.env.MUSTER_RUN_AS ?? process.env.USER ?? 'root',
    work_path: folder,
    pid_file: `muster-wide-\${LocalInstID}.pid`,
    start_cmd: 'exec sleep 600',
  };
  await api(page, 'PUT', `/businesses/${BUSINESS}/topology`, {
    bk_biz_id: BUSINESS,
    bk_biz_name: 'wide',
    sets: [
      { bk_set_name: 'one', bk_set_env: 1, modules: [{ bk_module_name: 'one', hosts: [host], processes: [wide] }] },
    ],
  });
  const field = label => page.locator('dialog').getByLabel(label, { exact: true });
  const press = text => page.locator('dialog footer button', { hasText: text }).click();
  const gone = () => page.waitForSelector('dialog[open]', { state: 'detached' });

  await step('a template is made and changed', async () => {
    await go(page, `/ui/b/${BUSINESS}/templates`);
    await page.getByRole('button', { name: 'New template' }).first().click();
    await field('Name of the template').fill('wide.conf');
    await field('Folder on the host').fill(folder);
    await field('Name of the file; may have variables').fill(`muster-wide-\${LocalInstID}.conf`);
    await press('New template');
    await page.waitForURL(/templates\/\d+/);
    await page.getByRole('button', { name: 'Change', exact: true }).click();
    await field('Mode').fill('0600');
    await press('Save');
    await gone();
    await page.locator('.template-path', { hasText: 'root:root · 0600' }).waitFor();
  });

  const id = Number(/templates\/(\d+)/.exec(page.url())[1]);
  const path = `/businesses/${BUSINESS}/templates/${id}`;
  const draft = await api(page, 'PUT', `${path}/draft`, { description: '', content: `n = \${LocalInstID}\n` });
  const { processes } = await api(page, 'GET', `/processes/view?business=${BUSINESS}&limit=10`);
  await api(page, 'PUT', `${path}/bindings`, { processes: processes.map(one => one.id), process_templates: [] });
  await api(page, 'POST', `${path}/versions/${draft.id}/activate`);

  await step('the release shows every file that would change', async () => {
    await go(page, `/ui/b/${BUSINESS}/release?step=files`);
    await page.getByText(`${INSTANCES} of ${INSTANCES} files would change`).waitFor({ timeout: 60_000 });
    const table = page.locator('.table-scroll, [role=grid]').first();
    await table.locator('.table-row').first().click();
    await page.locator('.cm-merge-b .cm-line, .cm-insertedLine', { hasText: 'n = 1' }).first().waitFor();
    await table.focus();
    await page.keyboard.press('End');
    await page.locator('.table-row', { hasText: `wide, instance ${INSTANCES}` }).waitFor();
  });

  await step('what is released as generated is hidden, unless asked for', async () => {
    const { id: job } = await api(page, 'POST', '/jobs', { business: BUSINESS, action: 'release', filter: {} });
    const ended = async () => (await api(page, 'GET', `/jobs/${job}?wait=20s&ended=${INSTANCES - 1}&limit=1`)).status;
    let status = await ended();
    while (!['succeeded', 'failed'].includes(status)) status = await ended();
    assert.equal(status, 'succeeded');
    await go(page, `/ui/b/${BUSINESS}/release?step=files`);
    await page.getByText(`0 of ${INSTANCES} files would change`).waitFor();
    await page.getByLabel('Only what changes').uncheck();
    await page.getByText(`${INSTANCES} files`, { exact: true }).waitFor();
    await page.locator('.table-row', { hasText: 'as released' }).first().waitFor();
  });

  await step('the template lists its files, and what is known of those on the hosts', async () => {
    await go(page, `/ui/b/${BUSINESS}/templates/${id}?tab=files`);
    await page.locator('.table-row', { hasText: 'muster-wide-1.conf' }).first().waitFor();
    assert.equal(Number(await page.getAttribute('[role=grid]', 'aria-rowcount')) - 1, INSTANCES);
    await page.getByLabel('On the hosts').selectOption('true');
    await page.waitForURL(/drift=true/);
    await page.locator('.placeholder', { hasText: 'No file matches' }).waitFor();
  });

  await step('deleting says what is bound, and then it is gone', async () => {
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.locator('dialog', { hasText: 'It is bound to 1 process and 0 process templates' }).waitFor();
    await press('Delete');
    await gone();
    await page.waitForURL(/\/templates$/);
    assert.deepEqual((await api(page, 'GET', `/businesses/${BUSINESS}/templates`)).templates, []);
  });
  await api(page, 'DELETE', `/businesses/${BUSINESS}/topology`);
});
