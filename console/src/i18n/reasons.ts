/**
 * Sentences of the API in the language of the console. The API sends each as a code with parameters and as an English text.
 * English shows the text; Chinese is made from the code, and shows the text where the code is not known here.
 */
import { language } from './i18n';

export interface Reason {
  code: string;
  params: Record<string, string>;
}

/** What a pattern of an expression means. */
export interface Meaning extends Reason {
  items: Meaning[];
}

type Params = Record<string, string | undefined>;

const ROWS: Record<string, string> = { set: '集群', module: '模块', service: '服务实例', process: '进程' };
const row = (p: Params) => ROWS[p.what ?? ''] ?? p.what ?? '';
/** Parts of templates stand in quotes of their own in English texts. */
const plain = (text: string | undefined) => (text ?? '').replace(/^"(.*)"$/, '$1');
const inTemplate = (said: (p: Params) => string) => (p: Params) =>
  p.line ? `${p.template ? `${p.template} ` : ''}第 ${p.line} 行：${said(p)}` : said(p);
const detail = (head: string) => inTemplate(p => (p.detail ? `${head}：${p.detail}` : head));

/** The text of the server follows, because a program or a host said it. */
const said = (head: string) => (p: Params) => (p.text ? `${head}：${p.text}` : head);

const FOUND: Record<string, string> = {
  'the end': '结尾',
  'the end of the line': '行尾',
  'the end of the block': '代码块结尾',
  'an indented line': '缩进的行',
  'a string': '字符串',
  'a name': '名称',
  'a value': '值',
};
const found = (text: string | undefined) => FOUND[text ?? ''] ?? plain(text);

const FLAGS: Record<string, string> = { running: '运行', stopped: '停止', unregistered: '从未操作' };

const ZH = {
  // Expressions that are refused.
  unclosed_bracket: () => '括号没有闭合：请在内容之后写 ]，字符本身请写 \\[',
  bracket_across_parts: () => '括号没有闭合：括号必须在同一段内闭合，不能跨到下一段',
  nested_bracket: p => `第 ${p.outer} 个字符的括号里还有括号：括号不能嵌套，字符本身请写 \\[`,
  reversed_range: p => `范围 ${p.from}-${p.to} 的顺序反了：请写 ${p.to}-${p.from}`,
  empty_exclusion: () => '[!] 没有排除任何字符：请在 ! 之后写要排除的字符，任意字符请写 ?，字符本身请写 \\!',
  dangling_escape: () => '反斜杠用于转义后面的字符，但后面没有字符：字符本身请写 \\\\',
  expression_too_long: p => `表达式最多 ${p.most} 个字符`,
  too_many_alternatives: p => `一段最多列出 ${p.most} 个选项：请使用范围和通配符`,
  too_many_wildcards: p => `一段最多 ${p.most} 个通配符和括号：同一括号内的词和范围只计一次`,
  too_many_digits: p => `范围中的数字最多 ${p.most} 位`,
  too_many_parts: () => '出现了第六段：只有五段 集群.模块.服务.进程.id，名称中的点请写 \\.',
  slice_with_more: () => '切片前后不能有其他内容：字符本身请写 \\:',
  slice_with_step: () => '切片没有步长：请写 [开始:结束]',
  slice_without_numbers: p => `切片应为 [开始:结束]，用整数，可以省略；“${p.found}”不是切片`,

  // Rows of a topology that are left out.
  belongs_elsewhere: p => `${row(p)} ${p.id} 属于业务 ${p.business}`,
  twice: p => `${row(p)} ${p.name} 出现了两次`,
  twice_in_service: p => `进程 ${p.name} 在其服务实例中出现了两次`,
  host_twice: p => `主机 ${p.id} 出现了两次，另一个是 ${p.other}`,
  host_elsewhere: p => `主机 ${p.id} 在另一个业务中是 ${p.known}：请在那里换一个 bk_host_id`,
  required: p => `${p.field}：必填`,
  invalid: p => (p.field ? `${p.field}：${p.rule}` : (p.rule ?? '')),
  more: p => `另有 ${p.count} 行有误`,

  // Lines of a difference, without what they are about, which heads their group.
  set: p => p.name ?? '',
  module: p => p.name ?? '',
  service: p => p.name ?? '',
  host: p => p.host ?? '',
  host_moved: p => `${p.host}，之前是 ${p.before}`,
  process: p =>
    `${p.id} ${p.name}${p.service ? `（${p.service}）` : ''}${p.fields ? `：${p.fields.replaceAll(', ', '、')}` : ''}`,
  still_runs: p => `${p.id} ${p.name} 仍在运行：停止之前保持显示`,

  // Results of operations that failed.
  agent_away: () => 'Agent 离线',
  timed_out: () => '在期限内没有结果',
  already_running: () => '进程已在运行',
  not_running: () => '进程没有运行',
  unknown_operation: () => '没有这种操作',
  check_failed: said('命令执行后的检查失败'),
  exists: () => '已用不同的规格注册',
  not_registered: () => '未注册',
  command_failed: said('命令失败'),
  invalid_target: said('请求的这一部分无效'),
  earlier_failed: () => '之前的任务失败，未执行',
  cancelled: () => '作业已取消',
  not_steady: said('操作成功，但进程没有保持所要求的状态'),
  no_command: () => '进程没有该操作的命令',
  bad_template: said('模板有误'),
  no_active_version: () => '模板没有生效版本',
  failed: said('失败'),

  // What is on a host, beside what was released.
  differs: p => `主机上的内容不同（md5 ${p.md5}）`,
  unreadable: p => `Agent 无法读取：${p.detail}`,
  not_released: () => '尚未下发',
  not_watched: () => 'Agent 不监视该文件',

  // What an agent holds, beside what is wanted.
  not_held: () => '已注册，但 Agent 没有持有',
  held_unregistered: () => 'Agent 持有，但没有注册',
  held_earlier: () => 'Agent 持有的是之前的注册',
  held_other_spec: () => 'Agent 持有的规格或标签不同',
  held_flag: p => `期望为${FLAGS[p.wanted ?? ''] ?? p.wanted}，Agent 持有的是${FLAGS[p.held ?? ''] ?? p.held}`,
  held_unmanaged: () => '应被托管，但 Agent 没有托管',
  held_managed: () => 'Agent 在托管，但不应托管',
  held_down: p => `应运行但没有运行：${p.phase}`,
  held_up: p => `应停止但仍在运行，pid ${p.pid}`,

  // Templates that are refused.
  template_syntax: detail('语法错误'),
  template_undefined: inTemplate(p => `未知变量“${p.name}”`),
  template_read_too_early: inTemplate(p => `变量“${p.name}”在赋值之前被读取`),
  template_forbidden: detail('模板中不可用'),
  template_unavailable: inTemplate(p => `模板中不能使用 ${plain(p.what)}`),
  template_failed: detail('表达式执行失败'),
  template_no_key: inTemplate(p => `没有键 ${p.key}`),
  template_division_by_zero: inTemplate(() => '除数为零'),
  template_unexpected: inTemplate(p => `此处应为 ${found(p.wanted)}，但遇到 ${found(p.found)}`),
  template_unclosed: inTemplate(p =>
    p.opened ? `${plain(p.opened)} 缺少 ${plain(p.missing)}` : `到文本结尾都没有 ${plain(p.missing)}`,
  ),
  template_unclosed_string: inTemplate(() => '字符串没有结束引号'),
  template_unopened: inTemplate(p => `${plain(p.what)} 没有对应的开头`),
  template_misplaced: inTemplate(p => `此处应为 ${p.wanted}，但遇到 ${p.found}`),
  template_include: detail('引用失败'),
  template_no_include: inTemplate(p => `没有名为“${p.name}”的模板可供引用`),
  template_includes_itself: inTemplate(p => `模板“${p.name}”引用了自身`),
  template_too_long: detail('渲染超时'),
  template_too_large: detail('超出大小限制'),
  template_too_deep: detail('嵌套过深'),
  not_rendered: p => `无法为以下实例渲染：${p.instances}`,
} satisfies Record<string, (p: Params) => string>;

export type ReasonCode = keyof typeof ZH;

const isKnown = (code: string): code is ReasonCode => Object.hasOwn(ZH, code);

/** `text` is the sentence of the server. */
export function sentence(reason: Reason | null | undefined, text: string): string {
  if (language.value !== 'zh' || !reason || !isKnown(reason.code)) return text;
  return (ZH[reason.code] as (p: Params) => string)({ ...reason.params, text });
}

const quote = (text: string | undefined) => `“${text ?? ''}”`;
const either = (items: Meaning[]): string => items.map(meaning).join('、');

const MEANINGS = {
  any: () => '任意',
  empty: () => '空名称',
  exactly: p => `等于${quote(p.text)}`,
  begins_with: p => `以${quote(p.text)}开头`,
  ends_with: p => `以${quote(p.text)}结尾`,
  contains: p => `包含${quote(p.text)}`,
  one_of: (_p, items) => `其中之一：${either(items)}`,
  sequence: (_p, items) => items.map(meaning).join('，然后'),
  text: p => quote(p.text),
  any_run: () => '任意内容',
  any_one: () => '任意一个字符',
  none_of: (_p, items) => `一个字符，但不是${either(items)}`,
  characters: p => `${quote(p.from)}到${quote(p.to)}`,
  choice: (_p, items) => (items.length === 1 ? either(items) : `其中之一（${either(items)}）`),
  nothing: () => '空',
  letters: p => `${p.from} 到 ${p.to} 的字母`,
  numbers: p => `${p.from} 到 ${p.to} 的数字`,
  padded_numbers: p => `${p.from} 到 ${p.to} 的数字（可带前导零）`,
  atoms: (_p, items) => items.map(meaning).join('加'),
  more: p => `另外 ${p.count} 项`,
  all_processes: () => '所有进程',
  no_process: () => '没有进程',
  first: p => `按 id 的前 ${p.count} 个进程`,
  last: p => `按 id 的后 ${p.count} 个进程`,
  all_but_first: p => `按 id 除前 ${p.count} 个以外的进程`,
  all_but_last: p => `按 id 除后 ${p.count} 个以外的进程`,
  nth: p => `按 id 的第 ${p.at} 个进程`,
  range: p => `按 id 的第 ${p.from} 到第 ${p.to} 个进程`,
  between: p => `按 id 从位置 ${p.start} 到位置 ${p.end} 之前的进程（从 0 计，负数从末尾计）`,
} satisfies Record<string, (p: Params, items: Meaning[]) => string>;

function meaning(one: Meaning): string {
  const said: (p: Params, items: Meaning[]) => string = MEANINGS[one.code as keyof typeof MEANINGS];
  return said(one.params, one.items);
}

const isAllKnown = (one: Meaning): boolean => Object.hasOwn(MEANINGS, one.code) && one.items.every(isAllKnown);

/** What a part of an expression means; `words` is the sentence of the server. */
export function meaningText(one: Meaning | null | undefined, words: string): string {
  return language.value === 'zh' && one && isAllKnown(one) ? meaning(one) : words;
}
