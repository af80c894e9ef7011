import { defineStrings } from '../i18n/i18n';

export const t = defineStrings({
  en: {
    group: 'Rows',
    next: 'next row',
    previous: 'previous row',
    select: 'select the row',
    range: 'select up to this row',
    all: 'select all that match',
    open: 'open the row',
  },
  zh: {
    group: '表格',
    next: '下一行',
    previous: '上一行',
    select: '选择该行',
    range: '连续选择到该行',
    all: '选择全部匹配项',
    open: '打开该行',
  },
});
