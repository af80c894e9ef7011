// A server without processes shows how to add a host and register a process, and turns into the overview by itself.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  axeClean,
  connectedHosts,
  fitsWidth,
  flow,
  folder,
  go,
  LOOP,
  logIn,
  markPage,
  openPage,
  specOf,
  step,
  url,
  withProcess,
} from './harness.mjs';

await flow(async browser => {
  const page = await openPage(browser);
  await logIn(page);
  let isSamePage;
  const steps = page.locator('.first-steps .card');

  await step('the overview shows two steps', async () => {
    await steps.nth(1).waitFor();
    await steps.nth(0).getByText('1 host', { exact: true }).waitFor();
    assert.match((await steps.nth(1).textContent()) ?? '', new RegExp(`muster login ${url}`));
    await axeClean(page, 'the first steps');
    await page.setViewportSize({ width: 390, height: 800 });
    await fitsWidth(page, 'the first steps');
    await page.setViewportSize({ width: 1280, height: 800 });
    isSamePage = await markPage(page);
  });

  await step('the command that it makes adds a host', async () => {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await steps.nth(0).getByRole('button', { name: 'Make the command' }).click();
    await steps.nth(0).getByRole('button', { name: 'Copy' }).click();
    const command = await page.evaluate(() => navigator.clipboard.readText());
    assert.equal(command, await steps.nth(0).locator('.code-block').textContent());
    assert.ok(command.startsWith(`curl -fsS ${url}/install.sh | sh -s -- --token `), command);
    // As it is, but in a folder of its own and under another address.
    const joined = `${folder}/joined`;
    const places = `--data ${joined}/data --bin-dir ${joined}/bin --config-dir ${joined}/etc --no-service`;
    const run = words => execFileSync('sh', ['-c', `${words} 2>&1`], { cwd: folder, encoding: 'utf8' });
    const said = run(`${command} --ip 10.5.0.9 ${places}`);
    try {
      assert.match(said, /muster-agent .* is connected to /);
      await steps.nth(0).getByText('2 hosts').waitFor();
    } finally {
      run(`curl -fsS ${url}/install.sh | sh -s -- --uninstall --purge ${places}`);
    }
  });

  await step('other lists say how to begin, too', async () => {
    const other = await openPage(browser);
    await logIn(other, '/ui/processes');
    await other.waitForSelector('.table-empty .commands');
    await axeClean(other, 'an empty list');
    await go(other, '/ui/b');
    await other.waitForSelector('.placeholder');
    await other.context().close();
  });

  const hosts = await connectedHosts(page, 1);
  await withProcess(page, 'demo/clock', hosts, specOf('clock', LOOP), {}, () =>
    step('with the first process it is the overview', async () => {
      await page.waitForSelector('.tiles');
      await page.waitForSelector('.groups a:has-text("demo")');
      await isSamePage();
    }),
  );
  await step('and without it the first steps again', async () => {
    await steps.nth(1).waitFor();
  });
});
