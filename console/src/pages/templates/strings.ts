import { defineStrings } from '../../i18n/i18n';

export const t = defineStrings({
  en: {
    title: 'Config templates',
    make: 'New template',
    none: 'No config template yet',
    noneText:
      'A template is the text of a config file with variables. Muster renders it for each instance of a process.',
    name: 'Template',
    file: 'File',
    state: 'State',
    bound: 'Bound to',
    changed: 'Changed',
    active: (n: number) => `active: version ${n}`,
    draft: (n: number) => `draft: version ${n}`,
    notActive: 'no active version',
  },
  zh: {
    title: '配置模板',
    make: '新建模板',
    none: '还没有配置模板',
    noneText: '模板是带变量的配置文件文本，Muster 为进程的每个实例渲染它。',
    name: '模板',
    file: '文件',
    state: '状态',
    bound: '绑定数',
    changed: '修改时间',
    active: n => `生效：版本 ${n}`,
    draft: n => `草稿：版本 ${n}`,
    notActive: '没有生效版本',
  },
});
