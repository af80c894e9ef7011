import { defineStrings } from '../i18n/i18n';

export const t = defineStrings({
  en: {
    none: 'No file was generated yet',
    states: {
      same: 'as released',
      changed: 'differs from what was released',
      new: 'not released yet',
      missing: 'not generated',
    },
    of: (process: number, instance: number) => `process ${process}, instance ${instance}`,
    generated: (n: number) => `generated from version ${n}`,
    released: (n: number) => `released from version ${n}`,
    older: 'not the active one',
    difference: 'Released and generated file',
  },
  zh: {
    none: '还没有生成文件',
    states: { same: '与已下发一致', changed: '与已下发不同', new: '尚未下发', missing: '尚未生成' },
    of: (process, instance) => `进程 ${process}，实例 ${instance}`,
    generated: n => `由版本 ${n} 生成`,
    released: n => `已下发版本 ${n}`,
    older: '不是生效版本',
    difference: '已下发与新生成的文件',
  },
});
