// A business: tree, expression with its errors, instances, a job with its confirmation, a template with its preview, a release.
import assert from 'node:assert/strict';
import { BUSINESS, makeBusiness } from './business-data.mjs';
import { api, expectMessage, flow, go, logIn, openPage, step } from './harness.mjs';

await flow(async browser => {
  const page = await openPage(browser);
  await logIn(page, '/ui/b');
  const made = await makeBusiness(page);
  // Expressions and templates that are refused on purpose.
  expectMessage(/400/);

  await step('the tree narrows the process view, and the address says so', async () => {
    await go(page, `/ui/b/${BUSINESS}`);
    await page.waitForSelector('.table-row');
    await page.locator('.tree-modules .facet-value', { hasText: 'chat' }).click();
    await page.waitForURL(/module=\d+/);
    await page.waitForFunction(() => document.querySelectorAll('.table-row').length === 1);
  });

  await step('an expression shows what each part leaves, and a caret under what is wrong', async () => {
    await page.locator('.filter-line button', { hasText: 'Expression' }).click();
    const field = page.locator('.expression-input');
    assert.equal(await field.inputValue(), 'zone-1.chat');
    await field.fill('zone-[');
    await page.waitForSelector('.expression-error');
    await field.fill('zone-*.login');
    await page.waitForSelector('.expression-parts');
    await field.press('Enter');
    await page.waitForURL(/expr=zone-\*\.login/);
    await page.waitForFunction(() => document.querySelectorAll('.table-row').length === 1);
  });

  await step('a process shows its instances', async () => {
    await page.locator('.view-expand').first().click();
    await page.waitForURL(/expand=/);
    await page.waitForFunction(() => document.querySelectorAll('.table-row.is-part').length === 2);
  });

  await step('pasted addresses become a filter', async () => {
    await go(page, `/ui/b/${BUSINESS}`);
    await page.waitForSelector('.table-row');
    await page.locator('.filter-line input').fill('10.9.9.9 10.9.9.8');
    await page.keyboard.press('Enter');
    await page.waitForURL(/ip=10\.9\.9\.9,10\.9\.9\.8/);
    await page.waitForSelector('.table-empty .placeholder');
  });

  await step('acting on all that match asks for the number where a formal environment is touched', async () => {
    await go(page, `/ui/b/${BUSINESS}`);
    await page.waitForSelector('.table-row');
    await page.keyboard.press('a');
    await page.locator('.action-bar').getByRole('button', { name: 'Start', exact: true }).click();
    await page.waitForSelector('dialog .plan-facts');
    await page.waitForSelector('dialog .plan-type');
    const run = page.locator('dialog footer button').last();
    assert.equal(await run.getAttribute('aria-disabled'), 'true');
    // Three processes, one of them with two instances.
    await page.fill('dialog .plan-type input', '4');
    await run.click();
    await page.waitForSelector('dialog', { state: 'detached' });
    await page.waitForSelector('.toast a[href*="/ui/ops/job/"]');
  });

  await step('a template shows the line of an error, and the preview of an instance', async () => {
    await go(page, `/ui/b/${BUSINESS}/templates/${made.template}`);
    const text = page.locator('.cm-content');
    await text.fill(`a = 1\nb = \${nope}\n`);
    await page.locator('.cm-errorNumber').waitFor();
    assert.equal(await page.locator('.cm-errorNumber').first().textContent(), '2');
    await text.fill(`name = \${bk_process_name}\nnew = <b>1</b>\n`);
    await page.waitForFunction(() => document.querySelector('.template-preview')?.textContent.includes('<b>1</b>'));
    await page.locator('button', { hasText: 'Save and activate' }).click();
    await page.waitForSelector('.toast-good');
  });

  await step('a topology shows what would change, and changes nothing', async () => {
    await go(page, `/ui/b/${BUSINESS}/topology`);
    await page.fill('.topology-text', `bk_biz_id: ${BUSINESS}\nbk_biz_name: flow\nsets:\n  - bk_set_name: zone-9\n`);
    await page.locator('button', { hasText: 'Show what would change' }).click();
    await page.waitForSelector('.difference-lines');
    assert.match((await page.locator('.difference').textContent()) ?? '', /zone-9/);
    const { sets } = await api(page, 'GET', `/businesses/${BUSINESS}/tree`);
    assert.ok(!sets.some(one => one.name === 'zone-9'));
  });

  await step('what was shown is imported, after a question about what it removes', async () => {
    await page.locator('button', { hasText: /^Import \d+ changes/ }).click();
    await page.locator('dialog footer .button').last().click();
    await page.waitForSelector('.toast-good');
    const { sets } = await api(page, 'GET', `/businesses/${BUSINESS}/tree`);
    assert.ok(sets.some(one => one.name === 'zone-9'));
  });
});
