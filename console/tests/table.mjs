// The table of a big fleet: few rows in the DOM, one request for 200 rows scrolled, at most three for a drag from top to bottom.
// Needs at least 5,000 processes.
import assert from 'node:assert/strict';
import { flow, logIn, openPage, step } from './harness.mjs';

await flow(async browser => {
  const page = await openPage(browser);
  let requests = 0;
  page.on('request', request => {
    if (/\/api\/v1\/processes\?/.test(request.url())) requests++;
  });
  await logIn(page, '/ui/processes');
  await page.waitForSelector('.table-row a');
  const total = Number(await page.getAttribute('[role=grid]', 'aria-rowcount')) - 1;
  assert.ok(total >= 5000, `${total} processes are too few`);
  const rows = () => page.locator('.table-row').count();
  const firstRow = () =>
    page.evaluate(() => Number(document.querySelector('.table-row')?.getAttribute('aria-rowindex')) - 2);
  const settled = () =>
    page.waitForFunction(() => !document.querySelector('[aria-busy=true]') && document.querySelector('.table-row a'));

  await step('the first page is one request', async () => {
    assert.equal(requests, 1);
    assert.ok((await rows()) <= 64);
  });

  await step('the wheel asks once for 200 rows', async () => {
    requests = 0;
    await page.mouse.move(800, 500);
    for (let turn = 0; turn < 150; turn++) {
      await page.mouse.wheel(0, 280);
      await page.evaluate(() => new Promise(resolve => requestAnimationFrame(resolve)));
    }
    await settled();
    const reached = await firstRow();
    assert.ok(reached > 1000, `row ${reached}`);
    assert.ok(requests <= Math.ceil(reached / 200) + 1, `${requests} requests for ${reached} rows`);
    assert.ok((await rows()) <= 64);
  });

  await step('a drag from top to bottom asks at most three times and reaches the last row', async () => {
    await page.evaluate(() => document.querySelector('.table-scroll')?.scrollTo(0, 0));
    await settled();
    requests = 0;
    await page.evaluate(async () => {
      const scroller = document.querySelector('.table-scroll');
      for (let part = 1; scroller && part <= 60; part++) {
        scroller.scrollTop = (scroller.scrollHeight * part) / 60;
        await new Promise(resolve => requestAnimationFrame(resolve));
      }
    });
    await page.waitForFunction(
      last => [...document.querySelectorAll('.table-row')].at(-1)?.getAttribute('aria-rowindex') === String(last + 1),
      total,
    );
    await page.waitForFunction(() => [...document.querySelectorAll('.table-row')].at(-1)?.querySelector('a'));
    assert.ok(requests <= 3, `${requests} requests`);
    assert.ok((await rows()) <= 64);
  });

  await step('End and Home reach the ends by keyboard', async () => {
    await page.focus('[role=grid]');
    await page.keyboard.press('Home');
    await page.waitForFunction(() => document.querySelector('.table-row')?.getAttribute('aria-rowindex') === '2');
    await page.keyboard.press('End');
    await page.waitForFunction(
      last => [...document.querySelectorAll('.table-row')].at(-1)?.getAttribute('aria-rowindex') === String(last + 1),
      total,
    );
  });
});
