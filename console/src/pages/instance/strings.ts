import { defineStrings } from '../../i18n/i18n';

export const t = defineStrings({
  en: {
    tabs: { why: 'Why', logs: 'Output', figures: 'Figures', spec: 'Spec' },
    views: 'Views',
    processes: 'Processes',
    notHere: 'This process is not registered on this host',
    notHereText: 'It may have been unregistered, your role may not show its namespace, or the address is wrong.',
    allHosts: 'All hosts of this process',
    lastHour: 'Last hour',
    noFigures: 'The agent has no figures of the last hour.',
    cpu: 'CPU, percent of the machine',
    mem: 'Memory, percent',
    fd: 'Open descriptors',
    now: (text: string) => `now ${text}`,
    most: (text: string) => `at most ${text}`,
  },
  zh: {
    tabs: { why: '原因', logs: '输出', figures: '指标', spec: '规格' },
    views: '视图',
    processes: '进程',
    notHere: '该进程没有在此主机上注册',
    notHereText: '它可能已被注销，您的角色可能无权查看其命名空间，或者地址有误。',
    allHosts: '该进程的所有主机',
    lastHour: '最近一小时',
    noFigures: 'Agent 没有最近一小时的指标。',
    cpu: 'CPU（占整机百分比）',
    mem: '内存（百分比）',
    fd: '打开的描述符',
    now: text => `当前 ${text}`,
    most: text => `最高 ${text}`,
  },
});
