import { defineStrings, plural } from '../../i18n/i18n';

export const t = defineStrings({
  en: {
    tabs: { hosts: 'Hosts', spec: 'Spec', events: 'What happened', operations: 'Operations' },
    views: 'Views',
    processes: 'Processes',
    onHosts: (n: number, text: string) => `on ${text} ${plural(n, 'host', 'hosts')}`,
    all: 'All of them',
    none: 'This process is not registered on any host',
    noneText: 'It may have been unregistered, or the address is wrong.',
    states: 'states',
    noOperations: 'No operation has touched it yet.',
    specs: (text: string) => `${text} different specs`,
    noMatch: 'Nothing here',
  },
  zh: {
    tabs: { hosts: '主机', spec: '规格', events: '发生过什么', operations: '操作' },
    views: '视图',
    processes: '进程',
    onHosts: (_n, text) => `在 ${text} 台主机上`,
    all: '全部主机',
    none: '该进程没有在任何主机上注册',
    noneText: '它可能已被注销，或者地址有误。',
    states: '状态',
    noOperations: '还没有对它执行过操作。',
    specs: text => `${text} 种不同的规格`,
    noMatch: '没有内容',
  },
});
