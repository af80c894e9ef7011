// Figures of the last hour: charts that zoom by pointer and by keyboard, and the same as a table.
import assert from 'node:assert/strict';
import { api, flow, go, logIn, openPage, step, until } from './harness.mjs';

await flow(
  async browser => {
    const page = await openPage(browser);
    await logIn(page, '/ui/processes');
    const row = (await api(page, 'GET', '/processes?namespace=sample&limit=1')).processes[0];
    const address = `/ui/p/sample/one/${row.host}`;
    const zoomed = () => page.waitForURL(/zoom=\d+-\d+/);
    // The agent takes a figure every 15 seconds, and a line needs two.
    await until('two figures', async () => {
      const { cpu } = await api(page, 'GET', `/processes/sample/one/figures?host=${row.host}`);
      return cpu.filter(value => value !== null).length > 1;
    });

    await step('the page of the process has small lines, which lead to the charts', async () => {
      await go(page, address);
      await page.locator('.sparkline').first().waitFor();
      assert.equal(await page.locator('.uplot').count(), 0);
      await page
        .locator('section', { has: page.locator('.sparkline') })
        .getByRole('link', { name: 'Figures' })
        .click();
      await page.waitForURL(/tab=figures/);
      await page.waitForFunction(() => document.querySelectorAll('.uplot canvas').length === 3);
    });

    await step('each chart says in words what it shows', async () => {
      const labels = await page.locator('.chart').evaluateAll(all => all.map(one => one.getAttribute('aria-label')));
      assert.equal(labels.length, 3);
      for (const label of labels) assert.match(label ?? '', /: now [\d.,]+ · at most [\d.,]+$/);
    });

    await step('buttons zoom, and the address keeps it', async () => {
      await page.getByRole('button', { name: 'Zoom in' }).click();
      await zoomed();
      const before = page.url();
      await page.getByRole('button', { name: 'Later' }).click();
      await page.waitForURL(url => url.href !== before);
      await page.reload();
      await page.waitForSelector('.uplot canvas');
      await page.getByRole('button', { name: 'All', exact: true }).click();
      await page.waitForURL(url => !url.search.includes('zoom='));
    });

    await step('dragging zooms, a double click shows all', async () => {
      await page.waitForSelector('.chart[aria-busy=false] .u-over');
      const box = await page.locator('.u-over').first().boundingBox();
      const y = box.y + box.height / 2;
      await page.mouse.move(box.x + box.width * 0.6, y);
      await page.mouse.down();
      await page.mouse.move(box.x + box.width * 0.9, y, { steps: 5 });
      await page.mouse.up();
      await zoomed();
      const [from, to] = /zoom=(\d+)-(\d+)/.exec(page.url()).slice(1).map(Number);
      assert.ok(to - from > 600 && to - from < 1800, `${to - from} seconds are shown`);
      await page.mouse.dblclick(box.x + box.width / 2, y);
      await page.waitForURL(url => !url.search.includes('zoom='));
    });

    await step('the same is there as a table', async () => {
      await page.getByText('As a table').click();
      await page.waitForSelector('.chart-table tbody tr');
      assert.match((await page.locator('.chart-table tbody tr').last().textContent()) ?? '', /\d\d:\d\d:\d\d\d/);
    });
  },
  { sample: true },
);
