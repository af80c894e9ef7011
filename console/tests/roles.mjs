// Each page as a viewer, as an operator of the namespace `mine`, and as an admin: what is shown, what can be done, and what is
// refused with its reason.
import assert from 'node:assert/strict';
import { BUSINESS, makeBusiness } from './business-data.mjs';
import {
  api,
  connectedHosts,
  ended,
  expectMessage,
  flow,
  go,
  logIn,
  openPage,
  password,
  specOf,
  step,
  user,
  withProcess,
} from './harness.mjs';

const BAR = '.action-bar .button-plain';
const HEAD = '.page-head .button-plain';

/**
 * Address, what can be done there (or null: only seen), and the outcome for each role.
 * `may`: it can be done. `refused`: it is visible, disabled, and says that the role is missing. `needs ROLE`: the page says which
 * role is missing. `unknown`: the page says that there is no such thing. `shown`: there is something to see.
 */
const PAGES = [
  ['/ui/', null, 'shown', 'shown', 'shown'],
  ['/ui/processes?ns=mine', BAR, 'refused', 'may', 'may'],
  ['/ui/processes?ns=other', BAR, 'refused', 'needs viewer', 'may'],
  ['/ui/p/mine/one', BAR, 'refused', 'may', 'may'],
  ['/ui/p/other/one', BAR, 'refused', 'needs viewer', 'may'],
  ['/ui/p/mine/one/{host}', HEAD, 'refused', 'may', 'may'],
  ['/ui/p/other/one/{host}', HEAD, 'refused', 'unknown', 'may'],
  ['/ui/p/mine/one/{host}?tab=logs', null, 'needs operator', 'shown', 'shown'],
  ['/ui/hosts', null, 'shown', 'shown', 'shown'],
  ['/ui/hosts/{host}', BAR, 'refused', 'may', 'may'],
  ['/ui/b/{business}', BAR, 'refused', 'needs viewer', 'may'],
  ['/ui/b/{business}/templates', '.page .button-plain', 'refused', 'needs viewer', 'may'],
  ['/ui/b/{business}/templates/{template}', null, 'needs operator', 'needs viewer', 'shown'],
  ['/ui/b/{business}/release?step=roll', '.page .button-primary', 'refused', 'refused', 'may'],
  ['/ui/ops', null, 'shown', 'shown', 'shown'],
  ['/ui/ops/task/{mine}', HEAD, 'refused', 'may', 'may'],
  ['/ui/ops/task/{other}', HEAD, 'refused', 'needs viewer', 'may'],
  ['/ui/ops/job/{job}', null, 'shown', 'needs viewer', 'shown'],
  ['/ui/me', null, 'shown', 'shown', 'shown'],
  ...['users', 'apps', 'tokens', 'webhooks'].map(section => [
    `/ui/admin/${section}`,
    '.list-head .button-primary',
    'needs admin',
    'needs admin',
    'may',
  ]),
  ['/ui/admin/audit', null, 'needs admin', 'needs admin', 'shown'],
  ['/ui/admin/replicas', null, 'needs admin', 'needs admin', 'shown'],
];

/** Runs in the page. */
function outcome(action) {
  const main = document.querySelector('main');
  if (!main || main.querySelector('[aria-busy=true], .skeleton, .skeleton-wait')) return 'loading';
  const said = [...main.querySelectorAll('.placeholder, [role=alert]')].map(one => one.textContent).join();
  const role = /You need the role (\w+)/.exec(said);
  if (role) return `needs ${role[1]}`;
  if (/not registered on this host/.test(said)) return 'unknown';
  if (action === null)
    return main.querySelector('.table-row, .tile, .card, .log-lines, .editor-host') ? 'shown' : 'empty';
  const buttons = [...main.querySelectorAll(action)].filter(one => !one.hasAttribute('aria-haspopup'));
  if (buttons.length === 0) return 'without buttons';
  if (buttons.some(one => !one.hasAttribute('aria-disabled'))) return 'may';
  return buttons.every(one => /role/.test(one.title)) ? 'refused' : 'disabled without a reason';
}

async function hasOutcome(page, address, action, wanted) {
  await go(page, address);
  if (action === BAR && !wanted.startsWith('needs')) {
    await page.waitForSelector('.table-row a');
    await page.keyboard.press('a');
    await page.waitForSelector('.action-bar');
  }
  const patience = Date.now() + 15_000;
  let found = '';
  while (found !== wanted && Date.now() < patience) found = await page.evaluate(outcome, action);
  assert.equal(found, wanted, address);
}

await flow(async browser => {
  const admin = await openPage(browser);
  await logIn(admin, '/ui/me');
  const hosts = await connectedHosts(admin, 1);
  const { template } = await makeBusiness(admin);
  const secret = 'one of three roles';
  const makeUser = (name, grant) => api(admin, 'POST', '/users', { name, password: secret, grants: [grant] });
  await makeUser('vera', { role: 'viewer' });
  await makeUser('otto', { role: 'operator', namespaces: ['mine'] });
  // What is refused.
  expectMessage(/403/);

  const start = name => ended(admin, 'POST', `/processes/${name}/operate`, { op: 'start', hosts });
  const failing = name => specOf(name, 'exit 3');
  await withProcess(admin, 'mine/one', hosts, failing('mine'), {}, () =>
    withProcess(admin, 'other/one', hosts, failing('other'), {}, async () => {
      const { id: job } = await api(admin, 'POST', '/jobs', { business: BUSINESS, action: 'start', scope: {} });
      const [mine, other] = [await start('mine/one'), await start('other/one')];
      const known = { host: hosts[0], business: BUSINESS, template, job, mine, other };
      const people = [
        ['a viewer', { name: 'vera', secret }],
        ['an operator of one namespace', { name: 'otto', secret }],
        ['an admin', { name: user, secret: password }],
      ];
      for (const [number, [who, login]] of people.entries()) {
        const page = await openPage(browser);
        await logIn(page, '/ui/me', login);
        for (const [address, action, ...outcomes] of PAGES)
          await step(`${who}: ${address} ${outcomes[number]}`, () =>
            hasOutcome(
              page,
              address.replace(/\{(\w+)\}/g, (_, key) => known[key]),
              action,
              outcomes[number],
            ),
          );
        await page.context().close();
      }

      await step('an operator of one namespace sees and operates only that', async () => {
        const page = await openPage(browser);
        await logIn(page, '/ui/processes', { name: 'otto', secret });
        await page.waitForSelector('.table-row a');
        assert.deepEqual(await page.locator('.table-row a').allTextContents(), ['mine/one']);
        await page.keyboard.press('a');
        await page.keyboard.press('s');
        await page.waitForSelector('dialog .plan-facts');
        await page.locator('dialog .button-primary').click();
        await page.waitForSelector('.toast-bad');
        const refused = await api(page, 'POST', '/processes/other/one/operate', { op: 'start', hosts }).catch(String);
        assert.match(refused, /403/);
        await go(page, '/ui/ops');
        await page.waitForSelector('.table-row a');
        assert.doesNotMatch((await page.textContent('main')) ?? '', /other/);
      });
    }),
  );
});
