import { defineStrings, plural } from '../../i18n/i18n';

export const t = defineStrings({
  en: {
    list: 'Businesses with the states of their instances',
    counts: (sets: string, modules: string, processes: string, n: number, s: number, m: number) =>
      `${sets} ${plural(s, 'set', 'sets')} · ${modules} ${plural(m, 'module', 'modules')} · ${processes} ${plural(n, 'process', 'processes')}`,
    cmdb: 'from the CMDB',
    given: 'from a file',
    troubles: (n: number, text: string) => `${text} ${plural(n, 'row', 'rows')} left out`,
  },
  zh: {
    list: '业务及其实例状态',
    counts: (sets, modules, processes) => `${sets} 个集群 · ${modules} 个模块 · ${processes} 个进程`,
    cmdb: '来自 CMDB',
    given: '来自文件',
    troubles: (_n, text) => `有 ${text} 行被忽略`,
  },
});
