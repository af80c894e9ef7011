import { defineStrings } from '../i18n/i18n';

export const t = defineStrings({
  en: {
    make: 'Make the command',
    text: 'It holds a token that is good for one hour. Write the address of that machine for ADDRESS.',
    ownMachine: (address: string) =>
      `The server takes agents of its own machine only (${address}). To take others, start it with --agents and an address that they reach.`,
  },
  zh: {
    make: '生成命令',
    text: '其中的令牌一小时内有效。请把 ADDRESS 换成那台机器的地址。',
    ownMachine: address =>
      `服务器只接受本机的 Agent（${address}）。如需接受其他机器，请用 --agents 指定它们能访问的地址后重新启动。`,
  },
});
