// Names, labels, messages and output full of markup are shown as text, and nothing of it runs.
// Registers demo/markup on the first host and removes it again.
import assert from 'node:assert/strict';
import { flow, go, logIn, openPage, step } from './harness.mjs';

const MARKUP = '<img src=x onerror=alert(1)><script>alert(2)</script>';

await flow(async browser => {
  const page = await openPage(browser);
  let ran = false;
  page.on('dialog', dialog => {
    ran = true;
    void dialog.dismiss();
  });
  await logIn(page, '/ui/hosts');
  const api = (method, path, body) =>
    page.evaluate(
      async ([verb, where, sent]) => {
        const headers = { 'content-type': 'application/json' };
        const answer = await fetch(`/api/v1${where}`, { method: verb, headers, body: sent && JSON.stringify(sent) });
        return answer.ok ? answer.json() : Promise.reject(new Error(await answer.text()));
      },
      [method, path, body],
    );
  const host = (await api('GET', '/hosts?connected=true&limit=1')).hosts[0].host;
  const spec = {
    identity: {
      index_key: '',
      proc_name: 'sh',
      setup_path: '/tmp',
      pid_path: '/tmp/muster-console-markup.pid',
      user: process.env.USER || 'root',
      config_path: '',
      log_path: '',
    },
    control: { start_cmd: `echo '${MARKUP}'; exit 3` },
    resource: { cpu: 50, mem: 50 },
    monitor_policy: { start_check_secs: 1 },
  };
  await api('PUT', '/processes/demo/markup', { hosts: [host], spec, labels: { note: MARKUP } });
  try {
    const { task_id: task } = await api('POST', '/processes/demo/markup/operate', { op: 'start', hosts: [host] });
    await api('GET', `/tasks/${encodeURIComponent(task)}?wait=30s`);

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
  } finally {
    await api('DELETE', '/processes/demo/markup?all=true');
  }
});
