// What every browser flow needs: a browser, a login, and checks that must hold on each page.
//
//   MUSTER_URL=http://127.0.0.1:7100 MUSTER_USER=ada MUSTER_PASSWORD=… node console/tests/NAME.mjs
//
// The flow ends with exit code 0 if all its steps passed. It prints one line for each step.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';

const need = name => {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set`);
  return value;
};

export const url = need('MUSTER_URL').replace(/\/$/, '');
export const user = need('MUSTER_USER');
export const password = need('MUSTER_PASSWORD');

const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

/** Messages that a flow expects, such as those of requests that are refused on purpose. */
const expected = [];
export const expectMessage = pattern => expected.push(pattern);

const messages = [];

/** Runs the steps of a flow in one browser. */
export async function flow(run) {
  const browser = await chromium.launch({
    executablePath: process.env.MUSTER_CHROMIUM ?? '/usr/bin/chromium',
    args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
  });
  try {
    await run(browser);
    const unexpected = messages.filter(message => !expected.some(pattern => pattern.test(message)));
    assert.deepEqual(unexpected, [], 'the browser reports errors');
  } catch (error) {
    console.error(error);
    process.exitCode = 1;
  } finally {
    await browser.close();
  }
}

export async function step(name, run) {
  try {
    await run();
    console.log(`ok   ${name}`);
  } catch (error) {
    console.log(`FAIL ${name}`);
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
  const page = await context.newPage();
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
  // The first request finds out that nobody is logged in.
  expectMessage(/401/);
  await go(page, next);
  await page.waitForURL('**/ui/login**');
  await page.fill('input[name=username]', name);
  await page.fill('input[name=password]', secret);
  await page.click('button[type=submit]');
  await page.waitForURL(address => !address.pathname.startsWith('/ui/login'));
  await page.waitForSelector('.shell');
}

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
