import { defineStrings } from '../i18n/i18n';

export const t = defineStrings({
  en: {
    make: 'Make the command',
    text: 'Run it on that machine, as root. It installs the agent and starts it. The token in it is good for one hour.',
    ownMachine: (address: string) =>
      `The server takes agents of its own machine only (${address}). To take others, start it with --http and --agents and addresses that they reach, and open this page there.`,
  },
  zh: {
    make: '生成命令',
    text: '请在那台机器上以 root 身份运行，它会安装并启动 Agent。其中的令牌一小时内有效。',
    ownMachine: address =>
      `服务器只接受本机的 Agent（${address}）。如需接受其他机器，请用 --http 和 --agents 指定它们能访问的地址后重新启动，并从该地址打开本页。`,
  },
});
