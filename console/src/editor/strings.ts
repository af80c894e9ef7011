import { defineStrings, plural } from '../i18n/i18n';

export const t = defineStrings({
  en: {
    readOnly: 'read-only',
    place: (line: number, column: number) => `Line ${line}, column ${column}`,
    hint: 'Tab indents. Esc, then Tab leaves the editor.',
    find: 'Find…',
    same: 'No difference',
    before: (label: string) => `${label}: before`,
    after: (label: string) => `${label}: after`,
    counts: (added: number, removed: number) => `${added} ${plural(added, 'line', 'lines')} added, ${removed} removed`,
    showEqual: 'Show equal lines',
  },
  zh: {
    readOnly: '只读',
    place: (line, column) => `第 ${line} 行，第 ${column} 列`,
    hint: 'Tab 键缩进。先按 Esc 再按 Tab 离开编辑器。',
    find: '查找…',
    same: '没有差异',
    before: label => `${label}：之前`,
    after: label => `${label}：之后`,
    counts: (added, removed) => `新增 ${added} 行，删除 ${removed} 行`,
    showEqual: '显示相同的行',
  },
});

/** What CodeMirror says itself; its words are English. */
export const PHRASES_ZH: Record<string, string> = {
  Find: '查找',
  Replace: '替换为',
  next: '下一个',
  previous: '上一个',
  all: '全选',
  'match case': '区分大小写',
  regexp: '正则表达式',
  'by word': '全字匹配',
  replace: '替换',
  'replace all': '全部替换',
  close: '关闭',
  'current match': '当前匹配',
  'on line': '所在行',
  'replaced match on line $': '已替换第 $ 行的匹配',
  'replaced $ matches': '已替换 $ 处匹配',
  'Go to line': '跳转到行',
  go: '跳转',
  '$ unchanged lines': '$ 行相同',
  'Selection deleted': '已删除所选内容',
  'Control character': '控制字符',
};

/** In the words of the console. */
export const PHRASES_EN: Record<string, string> = {
  next: 'Next',
  previous: 'Previous',
  all: 'Select all',
  'match case': 'Match case',
  regexp: 'Regular expression',
  'by word': 'Whole words',
  replace: 'Replace',
  'replace all': 'Replace all',
  '$ unchanged lines': '$ equal lines',
};
