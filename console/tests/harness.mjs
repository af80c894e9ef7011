// What every browser flow needs: a browser, a login, and checks that must hold on each page.
//
//   MUSTER_URL=http://127.0.0.1:7100 MUSTER_USER=ada MUSTER_PASSWORD=… node console/tests/NAME.mjs
//
// The flow ends with exit code 0 if all its steps passed. It prints one line for each step.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { chromium } from 'playwright-core';

const need = name => {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set`);
  return value;
};

export const url = need('MUSTER_URL').replace(/\/$/, '');
export const user = need('MUSTER_USER');
export const password = need('MUSTER_PASSWORD');
/** Where processes run. */
export const folder = process.env.MUSTER_FOLDER ?? '/tmp';

const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

/** Messages that a flow expects, such as those of requests that are refused on purpose. */
const expected = [];
export const expectMessage = pattern => expected.push(pattern);

const messages = [];

/** Runs the steps of a flow in one browser; with `sample`, while there is at least one process, sample/one. */
export async function flow(run, { sample = false } = {}) {
  const browser = await chromium.launch({
    executablePath: process.env.MUSTER_CHROMIUM ?? '/usr/bin/chromium',
    args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
  });
  try {
    if (sample) {
      const page = await openPage(browser);
      await logIn(page);
      const hosts = await connectedHosts(page, 1);
      await withProcess(page, 'sample/one', hosts, specOf('sample', LOOP), {}, async () => {
        await ended(page, 'POST', '/processes/sample/one/operate', { op: 'start', hosts });
        await run(browser);
      });
    } else await run(browser);
    const unexpected = messages.filter(message => !expected.some(pattern => pattern.test(message)));
    assert.deepEqual(unexpected, [], 'the browser reports errors');
  } catch (error) {
    console.error(error);
    process.exitCode = 1;
    await keepScreenshots(browser);
  } finally {
    await browser.close();
    answers.close();
  }
}

/** What each page showed when the flow failed, for the person who looks into it. */
async function keepScreenshots(browser) {
  const { MUSTER_SCREENSHOTS: where } = process.env;
  if (!where) return;
  const pages = browser.contexts().flatMap(context => context.pages());
  for (const [number, page] of pages.entries()) await page.screenshot({ path: `${where}/${number}.png` });
}

const answers = createInterface({ input: process.stdin });

/**
 * Asks the test that runs this flow for what a browser cannot do: `kill-server`, `start-server`, `kill-agent`, `start-agent`,
 * `four-agents`. By hand: do it, then press Enter.
 */
export function ask(request) {
  const answer = new Promise(resolve => {
    answers.once('line', resolve);
  });
  console.log(`@${request}`);
  return answer;
}

export async function step(name, run) {
  const begun = Date.now();
  const seconds = () => `(${((Date.now() - begun) / 1000).toFixed(1)} s)`;
  try {
    await run();
    console.log(`ok   ${name} ${seconds()}`);
  } catch (error) {
    console.log(`FAIL ${name} ${seconds()}`);
    throw error;
  }
}

/** A page of its own context. Errors of the page, of the console and of the CSP are collected and fail the flow. */
export async function openPage(browser, { language = 'en', theme = 'light', width = 1280, height = 800 } = {}) {
  const context = await browser.newContext({
    locale: language === 'zh' ? 'zh-CN' : 'en-GB',
    colorScheme: theme,
    viewport: { width, height },
  });
  return await watched(await context.newPage());
}

/** Another tab of the same browser. */
export const openTab = async page => await watched(await page.context().newPage());

async function watched(page) {
  page.on('pageerror', error => messages.push(`error: ${error.message}`));
  page.on('console', message => {
    if (message.type() === 'error' || /Content Security Policy|Trusted/.test(message.text()))
      messages.push(`${message.type()}: ${message.text()}`);
  });
  page.setDefaultTimeout(15_000);
  return page;
}

export const go = (page, path) => page.goto(url + path);

export async function logIn(page, next = '/ui/', { name = user, secret = password } = {}) {
  // The first request finds out that there is no login.
  expectMessage(/401/);
  await go(page, next);
  await page.waitForURL('**/ui/login**');
  await page.fill('input[name=username]', name);
  await page.fill('input[name=password]', secret);
  await page.click('button[type=submit]');
  await page.waitForURL(address => !address.pathname.startsWith('/ui/login'));
  await page.waitForSelector('.shell');
}

/** How many requests the server has answered whose endpoint matches, those for this number included. */
export async function requests(endpoint) {
  const lines = (await (await fetch(`${url}/metrics`)).text()).split('\n');
  return lines
    .map(line => /^muster_http_requests_total\{.*endpoint="([^"]*)".*\} (\d+)/.exec(line))
    .filter(found => found && endpoint.test(found[1]))
    .reduce((sum, found) => sum + Number(found[2]), 0);
}

/** Marks the page; the check that it returns fails after a reload. */
export async function markPage(page) {
  await page.evaluate(() => {
    globalThis.isMarked = true;
  });
  return async () => assert.ok(await page.evaluate(() => globalThis.isMarked), 'the page was loaded again');
}

/** Presses Tab until the focus is where it is wanted. */
export async function tabTo(page, selector, key = 'Tab') {
  const wanted = page.locator(selector);
  for (let presses = 0; presses < 100; presses++) {
    if (await wanted.evaluateAll(found => found.includes(document.activeElement))) return;
    await page.keyboard.press(key);
  }
  assert.fail(`100 times ${key} do not lead to ${selector}`);
}

/** A request of the page's own login to the native API. */
export function api(page, method, path, body) {
  return page.evaluate(
    async ([verb, where, sent]) => {
      const headers = { 'content-type': 'application/json' };
      const answer = await fetch(`/api/v1${where}`, { method: verb, headers, body: sent && JSON.stringify(sent) });
      const text = await answer.text();
      if (!answer.ok) throw new Error(`${answer.status} ${text}`);
      return text ? JSON.parse(text) : null;
    },
    [method, path, body],
  );
}

/** A request that begins a task, and its end: the id of the task. */
export async function ended(page, method, path, body) {
  const { task_id: task } = await api(page, method, path, body);
  await api(page, 'GET', `/tasks/${encodeURIComponent(task)}?wait=30s`);
  return task;
}

/** Runs until it is stopped. */
export const LOOP = 'while true; do sleep 1; done';

/** A shell command as a process of Muster. `user` is who runs the agent's processes. */
export function specOf(name, command, more = {}) {
  const runner = process.env.MUSTER_RUN_AS ?? process.env.USER ?? 'root';
  return {
    identity: {
      index_key: '',
      proc_name: 'sh',
      setup_path: folder,
      pid_path: `${folder}/muster-console-${name}.pid`,
      user: runner,
      config_path: '',
      log_path: '',
    },
    control: { start_cmd: command },
    resource: { cpu: 50, mem: 50 },
    monitor_policy: { start_check_secs: 1, start_interval: 2 },
    ...more,
  };
}

/** Registers a process on some hosts for the time of `run`, then stops and forgets it. `spec` may be a function of the host. */
export async function withProcess(page, name, hosts, spec, labels, run) {
  if (typeof spec === 'function')
    for (const host of hosts) await api(page, 'PUT', `/processes/${name}`, { hosts: [host], spec: spec(host), labels });
  else await api(page, 'PUT', `/processes/${name}`, { hosts, spec, labels });
  try {
    await run();
  } finally {
    await ended(page, 'POST', `/processes/${name}/operate`, { op: 'kill', all: true });
    await api(page, 'DELETE', `/processes/${name}?all=true`);
  }
}

/** Waits until a condition of this side holds. `page.waitForFunction` takes the promise of an async function for a yes. */
export async function until(what, holds, timeout = 60_000) {
  const deadline = Date.now() + timeout;
  while (!(await holds())) {
    assert.ok(Date.now() < deadline, `waited in vain: ${what}`);
    await new Promise(resolve => setTimeout(resolve, 250));
  }
}

export const connectedHosts = async (page, limit) =>
  (await api(page, 'GET', `/hosts?connected=true&limit=${limit}`)).hosts.map(one => one.host);

/** No violation of WCAG 2.2 AA that axe finds. */
export async function axeClean(page, what) {
  // Playwright's evaluate is no part of the page, so the policy of the page does not stop it.
  const source = (await import('node:fs')).readFileSync(axe, 'utf8');
  await page.evaluate(source);
  const found = await page.evaluate(async () => {
    const { violations } = await window.axe.run(document, {
      runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
    });
    return violations.map(
      one =>
        `${one.id}: ${one.help}: ${one.nodes
          .slice(0, 3)
          .map(node => node.html.slice(0, 160))
          .join(' | ')}`,
    );
  });
  assert.deepEqual(found, [], `axe on ${what}`);
}

/** Nothing is wider than the window. */
export async function fitsWidth(page, what) {
  const { wide, window: width } = await page.evaluate(() => ({
    wide: document.documentElement.scrollWidth,
    window: innerWidth,
  }));
  assert.ok(wide <= width, `${what} is ${wide} px wide in a window of ${width}`);
}
