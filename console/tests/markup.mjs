// Names, labels, messages and output full of markup are shown as text, and nothing of it runs.
import assert from 'node:assert/strict';
import { connectedHosts, ended, flow, go, logIn, openPage, specOf, step, withProcess } from './harness.mjs';

const MARKUP = '<img src=x onerror=alert(1)><script>alert(2)</script>';

await flow(async browser => {
  const page = await openPage(browser);
  let ran = false;
  page.on('dialog', dialog => {
    ran = true;
    void dialog.dismiss();
  });
  await logIn(page, '/ui/hosts');
  const [host] = await connectedHosts(page, 1);
  const spec = specOf('markup', `echo '${MARKUP}'; exit 3`);
  await withProcess(page, 'demo/markup', [host], spec, { note: MARKUP }, async () => {
    const task = await ended(page, 'POST', '/processes/demo/markup/operate', { op: 'start', hosts: [host] });

    const shownAsText = async what => {
      await page.waitForFunction(text => document.body.textContent?.includes(text), MARKUP);
      const made = await page.evaluate(() => document.querySelectorAll('#app img, #app script').length);
      assert.equal(made, 0, `${what}: elements were made from data`);
      assert.equal(ran, false, `${what}: a script ran`);
    };
    await step('in the output and the labels of a process', async () => {
      await go(page, `/ui/p/demo/markup/${host}`);
      await shownAsText('why');
      await go(page, `/ui/p/demo/markup/${host}?tab=logs`);
      await shownAsText('output');
      await go(page, `/ui/p/demo/markup/${host}?tab=spec`);
      await shownAsText('spec');
    });
    await step('in the list and its drawer', async () => {
      await go(page, `/ui/processes?ns=demo&cols=state,labels,message&open=demo/markup@${host}`);
      await shownAsText('list');
    });
    await step('in the results of an operation', async () => {
      await go(page, `/ui/ops/task/${task}`);
      await page.waitForSelector('.table-row');
      await page.locator('.table-row').first().click();
      await shownAsText('operation');
    });
    await step('in the address', async () => {
      await go(page, `/ui/processes?q=${encodeURIComponent(MARKUP)}&open=${encodeURIComponent(MARKUP)}`);
      await shownAsText('filter');
    });
  });
});
