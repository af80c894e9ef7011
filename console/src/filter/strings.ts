import { defineStrings } from '../i18n/i18n';

export const t = defineStrings({
  en: {
    searchFor: (text: string) => `Search for “${text}”`,
    removeFilter: (name: string) => `Remove ${name}`,
    clearAll: 'Clear all',
    moreValues: (text: string) => `${text} more: type to find them`,
  },
  zh: {
    searchFor: text => `搜索“${text}”`,
    removeFilter: name => `移除 ${name}`,
    clearAll: '全部清除',
    moreValues: text => `还有 ${text} 个，输入以查找`,
  },
});
