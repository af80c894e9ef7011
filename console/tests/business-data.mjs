// A small business with a config template, for flows that need one. Runs in the page, as the user who is logged in there.

import { folder } from './harness.mjs';

export const BUSINESS = 7;

export async function makeBusiness(page) {
  return await page.evaluate(
    async ([id, place]) => {
      const send = async (method, path, body) => {
        const answer = await fetch(`/api/v1${path}`, {
          method,
          headers: { 'content-type': 'application/json' },
          body: body && JSON.stringify(body),
        });
        if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
        return await answer.json();
      };
      const { hosts } = await send('GET', '/hosts?limit=1');
      const process = (name, instances) => ({
        bk_process_name: name,
        bk_func_name: 'sleep',
        proc_num: instances,
        user: 'root',
        work_path: place,
        pid_file: `muster-flow-${name}-\${LocalInstID}.pid`,
        start_cmd: 'exec sleep 600',
        bk_start_check_secs: 1,
        timeout: 20,
      });
      const module = (name, ...processes) => ({ bk_module_name: name, hosts: [hosts[0].host], processes });
      await send('PUT', `/businesses/${id}/topology`, {
        bk_biz_id: id,
        bk_biz_name: 'flow',
        sets: [
          {
            bk_set_name: 'zone-1',
            bk_set_env: 1,
            modules: [module('login', process('login', 2)), module('chat', process('chat', 1))],
          },
          { bk_set_name: 'zone-2', bk_set_env: 3, modules: [module('match', process('match', 1))] },
        ],
      });
      const { processes } = await send('GET', `/processes/view?business=${id}&limit=10`);
      const login = processes.find(one => one.name === 'login').id;
      let [template] = (await send('GET', `/businesses/${id}/templates`)).templates;
      if (!template) {
        template = await send('POST', `/businesses/${id}/templates`, {
          template_name: 'login.conf',
          file_name: `muster-flow-login-\${LocalInstID}.conf`,
          abs_path: place,
        });
        const path = `/businesses/${id}/templates/${template.id}`;
        const { id: draft } = await send('PUT', `${path}/draft`, {
          description: '',
          content: `name = \${bk_process_name}\n`,
        });
        await send('POST', `${path}/versions/${draft}/activate`);
        await send('PUT', `${path}/bindings`, { processes: [login], process_templates: [] });
      }
      return { login, template: template.id };
    },
    [BUSINESS, folder],
  );
}
