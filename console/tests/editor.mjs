// The editor of config templates: loaded late, marks an error, inserts variables, can be left by keyboard, compares with other texts.
import assert from 'node:assert/strict';
import { BUSINESS, makeBusiness } from './business-data.mjs';
import { api, expectMessage, flow, go, logIn, openPage, step } from './harness.mjs';

const focused = page =>
  page.evaluate(() => {
    let at = document.activeElement;
    while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
    return at?.className ?? '';
  });

const textOf = page =>
  page.evaluate(() =>
    [...document.querySelector('.editor-host').shadowRoot.querySelectorAll('.cm-line')]
      .map(line => line.textContent)
      .join('\n'),
  );

await flow(async browser => {
  const page = await openPage(browser);
  await logIn(page, '/ui/b');
  const made = await makeBusiness(page);
  const address = `/ui/b/${BUSINESS}/templates/${made.template}`;
  const path = `/businesses/${BUSINESS}/templates/${made.template}`;
  const content = page.locator('.cm-content');
  const activate = async text => {
    const { id } = await api(page, 'PUT', `${path}/draft`, { description: '', content: text });
    await api(page, 'POST', `${path}/versions/${id}/activate`);
  };
  await activate(`name = \${bk_process_name}\n`);
  // Templates that are refused on purpose.
  expectMessage(/400/);

  await step('the editor is loaded only by the page that shows it, and adds no style element', async () => {
    const loaded = () =>
      page.evaluate(() => performance.getEntriesByType('resource').filter(one => /codemirror-/.test(one.name)).length);
    await go(page, `/ui/b/${BUSINESS}/templates`);
    await page.waitForSelector('.plain-table');
    assert.equal(await loaded(), 0);
    await go(page, address);
    await content.waitFor();
    assert.equal(await loaded(), 1);
    const { styles, sheets } = await page.evaluate(() => {
      const { shadowRoot } = document.querySelector('.editor-host');
      return {
        styles: shadowRoot.querySelectorAll('style').length + document.querySelectorAll('style').length,
        sheets: shadowRoot.adoptedStyleSheets.length,
      };
    });
    assert.equal(styles, 0);
    assert.ok(sheets > 0);
  });

  await step('the line of an error is marked, and a button goes there', async () => {
    await content.fill(`a = 1\nb = \${nope}\nc = 3\n`);
    await page.locator('.cm-errorNumber').waitFor();
    assert.equal(await page.locator('.cm-errorNumber').textContent(), '2');
    assert.equal(await content.getAttribute('aria-invalid'), 'true');
    await page.getByRole('button', { name: 'Go to line 2' }).click();
    await page.getByText('Line 2, column 7').waitFor();
    assert.match(await focused(page), /cm-content/);
  });

  await step('a variable of the chosen instance is inserted at the cursor', async () => {
    await content.fill('id = \n');
    await content.press('Control+Home');
    await content.press('End');
    await page.getByRole('button', { name: 'Variables', exact: true }).click();
    await page.waitForURL(/side=variables/);
    await page.getByLabel('Search variables').fill('LocalInstID');
    await page.getByRole('button', { name: 'LocalInstID', exact: true }).click();
    assert.equal(await textOf(page), `id = \${LocalInstID}\n`);
    assert.match(await focused(page), /cm-content/);
    await page.getByRole('button', { name: 'Preview', exact: true }).click();
    await page.waitForFunction(() => document.querySelector('.template-preview')?.textContent === 'id = 1\n');
  });

  await step('Tab indents, Escape and Tab leave, and keys of the page do not act in the editor', async () => {
    await content.press('Control+Home');
    await content.press('Tab');
    assert.match(await textOf(page), /^ +id = /);
    assert.match(await focused(page), /cm-content/);
    // `?` would open the help.
    await content.press('?');
    assert.equal(await page.locator('dialog[open]').count(), 0);
    assert.match(await textOf(page), /\?/);
    await content.press('Escape');
    await content.press('Tab');
    assert.doesNotMatch(await focused(page), /cm-content/);
    await content.press('Tab');
    assert.match(await focused(page), /cm-content/);
  });

  await step('the search finds and replaces', async () => {
    await content.fill('port = 1\nport = 2\n');
    await content.press('Control+f');
    await page.getByRole('textbox', { name: 'Find' }).fill('port');
    await page.getByRole('textbox', { name: 'Replace' }).fill('door');
    await page.getByRole('button', { name: 'Replace all' }).click();
    assert.equal(await textOf(page), 'door = 1\ndoor = 2\n');
    await page.keyboard.press('Escape');
    await page.locator('.cm-search').waitFor({ state: 'detached' });
  });

  await step('the draft is shown with what differs from the active version', async () => {
    await page.getByRole('button', { name: 'Changes', exact: true }).click();
    await page.waitForURL(/changes=on/);
    await page.locator('.cm-deletedChunk').waitFor();
    assert.match(await page.locator('.cm-deletedChunk').first().textContent(), /bk_process_name/);
    await page.locator('button', { hasText: 'Save and activate' }).click();
    await page.waitForSelector('.toast-good');
    // The text is the active version now.
    await page.locator('.cm-deletedChunk').waitFor({ state: 'detached' });
  });

  await step('versions are compared beside each other, and below each other in a narrow window', async () => {
    const lines = (_, n) => `line ${n}\n`;
    const long = Array.from({ length: 40 }, lines).join('');
    await activate(long);
    await activate(long.replace('line 20\n', 'other\nmore\n'));
    await go(page, `${address}?tab=versions`);
    await page.locator('.cm-mergeView').waitFor();
    await page.getByText('2 lines added, 1 removed').waitFor();
    await page.locator('.cm-merge-b .cm-collapsedLines').first().waitFor();
    await page.getByLabel('Show equal lines').check();
    await page.locator('.cm-collapsedLines').first().waitFor({ state: 'detached' });
    await page.locator('.cm-merge-b .cm-line', { hasText: /^line 0$/ }).waitFor();
    await page.setViewportSize({ width: 800, height: 800 });
    await page.locator('.cm-mergeView').waitFor({ state: 'detached' });
    assert.match(await page.locator('.cm-deletedChunk').textContent(), /line 20/);
  });

  await step('a text that is only read takes no key, and Tab leaves it', async () => {
    const read = page.locator('.diff-host .cm-content');
    assert.equal(await read.getAttribute('aria-readonly'), 'true');
    const before = await read.textContent();
    await read.press('x');
    assert.equal(await read.textContent(), before);
    await read.press('Tab');
    assert.doesNotMatch(await focused(page), /cm-content/);
  });
});
