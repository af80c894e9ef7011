// Two outputs are followed at once over all tabs; a third says so, and can take the place of the oldest.
import assert from 'node:assert/strict';
import { api, connectedHosts, flow, go, logIn, openPage, specOf, step, withProcess } from './harness.mjs';

await flow(async browser => {
  const first = await openPage(browser);
  await logIn(first, '/ui/processes');
  const [host] = await connectedHosts(first, 1);
  const spec = specOf('talker', 'n=0; while true; do n=$((n+1)); echo "line $n"; sleep 0.2; done');
  const is = (page, word) => page.locator('.log-bar [role=status]', { hasText: new RegExp(`^${word}$`) }).waitFor();
  await withProcess(first, 'flow/talker', [host], spec, {}, async () => {
    const { task_id: task } = await api(first, 'POST', '/processes/flow/talker/operate', {
      op: 'start',
      hosts: [host],
    });
    await api(first, 'GET', `/tasks/${encodeURIComponent(task)}?wait=30s`);
    const address = `/ui/p/flow/talker/${host}?tab=logs`;
    // Tabs of one browser: they share a worker.
    const second = await first.context().newPage();
    const third = await first.context().newPage();

    await step('two tabs follow', async () => {
      for (const page of [first, second]) {
        await go(page, address);
        await is(page, 'following');
      }
    });

    await step('a third says so, and shows the last lines', async () => {
      await go(third, address);
      await third.locator('.log-full').waitFor();
      await is(third, 'not following');
      await third
        .locator('.log-line', { hasText: /^line \d+$/ })
        .first()
        .waitFor();
    });

    await step('it follows in place of the oldest, which says so and keeps its lines', async () => {
      await third.locator('.log-full button').click();
      await is(third, 'following');
      assert.equal(await third.locator('.log-full').count(), 0);
      await first.locator('.log-full', { hasText: 'another tab' }).waitFor();
      assert.ok((await first.locator('.log-line').count()) > 0);
      await is(second, 'following');
    });

    await step('a tab that waits goes on when another ends', async () => {
      await second.close();
      await is(first, 'following');
      assert.equal(await first.locator('.log-full').count(), 0);
    });

    await step('a tab that shows something else leaves its place', async () => {
      const fourth = await first.context().newPage();
      await go(fourth, address);
      await fourth.locator('.log-full').waitFor();
      await third.locator('.tabs a', { hasText: 'Spec' }).click();
      await is(fourth, 'following');
    });
  });
});
