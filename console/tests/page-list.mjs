// Every page of the console, for checks and pictures of all of them.
import { BUSINESS, makeBusiness } from './business-data.mjs';
import { user } from './harness.mjs';

/** Name, address, and what is there once it is loaded. Words in braces are those of {@link samples}. */
export const PAGES = [
  ['overview', '/ui/', 'h1'],
  ['processes', '/ui/processes', '.table-row'],
  ['processes with a drawer', '/ui/processes?state=running,failed&open={process}@{host}', '.drawer h2'],
  ['one process', '/ui/p/{process}', '.table-row'],
  ['one process, spec', '/ui/p/{process}?tab=spec', '.spec'],
  ['one process, versions', '/ui/p/{process}?tab=history', '.operation-list'],
  ['one process, edited', '/ui/p/{process}/edit', '.definition-form'],
  ['one process, edited as JSON', '/ui/p/{process}/edit?view=json', '.cm-content'],
  ['one process on one host', '/ui/p/{process}/{host}', '.why'],
  ['one process on one host, output', '/ui/p/{process}/{host}?tab=logs', '.log-lines'],
  ['one process on one host, figures', '/ui/p/{process}/{host}?tab=figures', '.uplot, .placeholder'],
  ['hosts', '/ui/hosts', '.table-row'],
  ['one host', '/ui/hosts/{host}', '.table-row'],
  ['one host, wanted and held', '/ui/hosts/{host}?tab=diff', '.tabs'],
  ['businesses', '/ui/b', '.business-row'],
  ['process view', '/ui/b/{business}?expand={login}', '.table-row.is-part'],
  ['process view, expression and drawer', '/ui/b/{business}?expr=zone-*.login&open={login}', '.drawer .facts'],
  ['topology', '/ui/b/{business}/topology', '.topology-text'],
  ['templates', '/ui/b/{business}/templates', '.plain-table'],
  ['one template', '/ui/b/{business}/templates/{template}', '.cm-content'],
  ['one template, variables', '/ui/b/{business}/templates/{template}?side=variables&changes=on', '.variables'],
  ['one template, versions', '/ui/b/{business}/templates/{template}?tab=versions', '.plain-table'],
  ['one template, bindings', '/ui/b/{business}/templates/{template}?tab=bindings', '.template-bindings'],
  ['one template, files', '/ui/b/{business}/templates/{template}?tab=files', '.placeholder, .table-row'],
  ['release', '/ui/b/{business}/release', '.release-templates'],
  ['release, files', '/ui/b/{business}/release?step=files', '.table-row'],
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

/** What addresses name: a business that is made for them, the first process of `namespace`, the last task and job. */
export async function samples(page, namespace = 'sample') {
  const found = { user, business: BUSINESS, ...(await makeBusiness(page)) };
  const more = await page.evaluate(async wanted => {
    const get = path => fetch(`/api/v1${path}`).then(answer => answer.json());
    const row = (await get(`/processes?namespace=${wanted}&limit=1`)).processes[0];
    const task = (await get('/tasks?limit=1')).tasks[0];
    const job = (await get('/jobs?limit=1')).jobs[0];
    return { process: `${row.namespace}/${row.name}`, host: row.host, task: task?.id, job: job && String(job.id) };
  }, namespace);
  return { ...found, ...more };
}

/** The address for these samples; null when it names one that there is not. */
export function addressOf(address, found) {
  const names = [...address.matchAll(/\{(\w+)\}/g)].map(match => match[1]);
  if (names.some(name => found[name] === undefined)) return null;
  return address.replace(/\{(\w+)\}/g, (_, name) => found[name]);
}

/** Loaded: what makes the page is there, and nothing is awaited. */
export async function settled(page, ready) {
  await page.waitForSelector(ready);
  await page.waitForFunction(() => !document.querySelector('[aria-busy=true], .skeleton, .skeleton-wait'));
}
