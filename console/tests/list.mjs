// A list in the address: a copied link and the back button show the same rows, order and drawer; a set that moved is asked for
// again; for many targets the number is typed.
import assert from 'node:assert/strict';
import { api, expectMessage, flow, go, logIn, openPage, openTab, specOf, step } from './harness.mjs';

const hosts = (first, n) => Array.from({ length: n }, (_, at) => `10.9.0.${first + at}`);

await flow(async browser => {
  const page = await openPage(browser);
  await logIn(page, '/ui/processes');
  const register = (name, on) =>
    api(page, 'PUT', `/processes/list/${name}`, { hosts: on, spec: specOf(name, 'exit 1'), labels: {} });
  // Without agents: nothing runs.
  await register('many', hosts(1, 110));
  await register('few', hosts(1, 4));
  const shows = async at => {
    await at.waitForFunction(() => document.querySelectorAll('.table-row a').length > 3);
    return (await at.locator('.table-row').allTextContents()).map(text => text.replace(/\d+[smh]\b.*/, ''));
  };

  await step('a copied link shows the same rows, order and drawer', async () => {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await go(page, '/ui/processes?ns=list&name=few&sort=-host');
    await page.waitForFunction(() => document.querySelectorAll('.table-row a').length > 0);
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.waitForSelector('.drawer .facts');
    await page.locator('.processes-head').getByRole('button', { name: 'Copy link' }).click();
    const link = await page.evaluate(() => navigator.clipboard.readText());
    assert.equal(link, page.url());
    const other = await openTab(page);
    await other.goto(link);
    await other.waitForSelector('.drawer .facts');
    assert.deepEqual(await shows(other), await shows(page));
    assert.equal(await other.textContent('.drawer h2'), await page.textContent('.drawer h2'));
    await other.close();
  });

  await step('back and forward go through the same views', async () => {
    const before = page.url();
    const shown = await shows(page);
    await page.locator('.drawer h2 a').click();
    await page.waitForURL('**/ui/p/list/few/**');
    await page.goBack();
    await page.waitForSelector('.drawer .facts');
    assert.equal(page.url(), before);
    assert.deepEqual(await shows(page), shown);
    await page.goBack();
    await page.waitForSelector('.drawer', { state: 'detached' });
    await page.goForward();
    await page.waitForSelector('.drawer .facts');
  });

  const select = async address => {
    await go(page, address);
    await page.waitForFunction(() => document.querySelectorAll('.table-row a').length > 0);
    await page.keyboard.press('a');
    await page.keyboard.press('s');
    await page.waitForSelector('dialog .plan-facts');
  };
  const run = page.locator('dialog footer .button').last();

  await step('a set that moved after it was shown is asked for again, and nothing was done', async () => {
    expectMessage(/409/);
    await select('/ui/processes?ns=list&name=few');
    await register('few', hosts(5, 1));
    await run.click();
    await page.waitForSelector('dialog .note-warn[role=alert]');
    assert.equal(await page.textContent('dialog .plan-number'), '5');
    assert.equal((await api(page, 'GET', '/tasks?namespace=list')).tasks.length, 0);
    await run.click();
    await page.waitForSelector('dialog', { state: 'detached' });
    await page.waitForSelector('.toast-bad');
    const { tasks } = await api(page, 'GET', '/tasks?namespace=list');
    assert.deepEqual(
      tasks.map(task => task.targets),
      [5],
    );
  });

  await step('for more than 100 targets the number is typed', async () => {
    await select('/ui/processes?ns=list&name=many');
    assert.equal(await run.getAttribute('aria-disabled'), 'true');
    await page.fill('dialog .plan-type input', '11');
    assert.equal(await run.getAttribute('aria-disabled'), 'true');
    await page.fill('dialog .plan-type input', '110');
    await run.click();
    await page.waitForSelector('dialog', { state: 'detached' });
    await page.waitForSelector('.toast a[href*="/ui/ops/job/"]');
  });
});
