// Each page in both languages and themes, at 1280 and 390 px: axe finds nothing, nothing is too wide, the browser reports no error.
//
//   node tests/pages.mjs [wide|narrow]    MUSTER_PAGES=/ui/b tries only the pages whose address contains that.
import { BUSINESS, makeBusiness } from './business-data.mjs';
import { axeClean, fitsWidth, flow, go, logIn, openPage, step, user } from './harness.mjs';

/** Address, and what is there once it is loaded. `{process}`, `{host}`, `{task}` and `{job}` are those of the first row. */
const PAGES = [
  ['overview', '/ui/', 'h1'],
  ['processes', '/ui/processes', '.table-row'],
  ['processes with a drawer', '/ui/processes?state=running,failed&open={process}@{host}', '.drawer h2'],
  ['one process', '/ui/p/{process}', '.table-row'],
  ['one process, spec', '/ui/p/{process}?tab=spec', '.spec'],
  ['one process on one host', '/ui/p/{process}/{host}', '.why'],
  ['one process on one host, output', '/ui/p/{process}/{host}?tab=logs', '.log-lines'],
  ['hosts', '/ui/hosts', '.table-row'],
  ['one host', '/ui/hosts/{host}', '.table-row'],
  ['one host, wanted and held', '/ui/hosts/{host}?tab=diff', '.tabs'],
  ['businesses', '/ui/b', '.business-row'],
  ['process view', '/ui/b/{business}?expand={login}', '.table-row.is-part'],
  ['process view, expression and drawer', '/ui/b/{business}?expr=zone-*.login&open={login}', '.drawer .facts'],
  ['topology', '/ui/b/{business}/topology', '.topology-text'],
  ['templates', '/ui/b/{business}/templates', '.plain-table'],
  ['one template', '/ui/b/{business}/templates/{template}', '.editor-text'],
  ['one template, versions', '/ui/b/{business}/templates/{template}?tab=versions', '.plain-table'],
  ['one template, bindings', '/ui/b/{business}/templates/{template}?tab=bindings', '.template-bindings'],
  ['one template, files', '/ui/b/{business}/templates/{template}?tab=files', '.placeholder, .file-list'],
  ['release', '/ui/b/{business}/release', '.release-templates'],
  ['release, roll out', '/ui/b/{business}/release?step=roll', '.steps'],
  ['an operation', '/ui/ops/task/{task}', '.operation-progress'],
  ['operations', '/ui/ops', '.table-row'],
  ['operations of an unknown user', '/ui/ops?kind=task&user=unknown-user&since=1h', '.placeholder'],
  ['a job', '/ui/ops/job/{job}', '.operation-progress'],
  ['events', '/ui/events', '.list-page'],
  ['own settings', '/ui/me', '.me .facts'],
  ['users', '/ui/admin/users', '.table-row'],
  ['one user', '/ui/admin/users?open={user}', '.drawer h2'],
  ['apps', '/ui/admin/apps', '.list-page'],
  ['join tokens', '/ui/admin/tokens', '.list-page'],
  ['webhooks', '/ui/admin/webhooks', '.list-page'],
  ['audit', '/ui/admin/audit', '.table-row'],
  ['replicas', '/ui/admin/replicas', '.table-row'],
  ['nothing there', '/ui/nonsense', '.placeholder'],
];

const VIEWS = {
  wide: [
    { language: 'en', theme: 'light', width: 1280, height: 800 },
    { language: 'zh', theme: 'dark', width: 1280, height: 800 },
  ],
  narrow: [
    { language: 'en', theme: 'dark', width: 390, height: 800 },
    { language: 'zh', theme: 'light', width: 390, height: 800 },
  ],
};
const views = VIEWS[process.argv[2]] ?? Object.values(VIEWS).flat();

await flow(
  async browser => {
    for (const view of views) {
      const page = await openPage(browser, view);
      await logIn(page, '/ui/processes');
      const first = { user, business: BUSINESS, ...(await makeBusiness(page)) };
      Object.assign(
        first,
        await page.evaluate(async () => {
          const get = path => fetch(`/api/v1${path}`).then(answer => answer.json());
          const row = (await get('/processes?namespace=sample&limit=1')).processes[0];
          const task = (await get('/tasks?limit=1')).tasks[0];
          const job = (await get('/jobs?limit=1')).jobs[0];
          return {
            process: `${row.namespace}/${row.name}`,
            host: row.host,
            task: task?.id,
            job: job && String(job.id),
          };
        }),
      );
      for (const [name, address, ready] of PAGES) {
        if (process.env.MUSTER_PAGES && !address.includes(process.env.MUSTER_PAGES)) continue;
        if ((address.includes('{task}') && !first.task) || (address.includes('{job}') && !first.job)) continue;
        const path = address.replace(/\{(\w+)\}/g, (_, key) => first[key] ?? '');
        await step(`${name} (${view.language}, ${view.theme}, ${view.width})`, async () => {
          await go(page, path);
          await page.waitForSelector(ready);
          await page.waitForFunction(() => !document.querySelector('[aria-busy=true], .skeleton, .skeleton-wait'));
          await axeClean(page, name);
          await fitsWidth(page, name);
        });
      }
      await page.context().close();
    }
  },
  { sample: true },
);
