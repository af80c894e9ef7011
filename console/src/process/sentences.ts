/**
 * Sentences about a process in the language of the console. The API sends each as a code with parameters and as an English
 * text. English shows the text; other languages are made from the code, and show the text where the code is not known here.
 */
import type { Process, TimelineEntry, Why } from '../api/types';
import { opWord } from '../i18n/common';
import { bytes, duration } from '../i18n/format';
import { language } from '../i18n/i18n';

type Params = Record<string, string | number | null | undefined>;

/** The sentence of `why`; `message` is what the agent says, which stays as it is. */
export function whyText(why: Pick<Why, 'code' | 'params' | 'text'>, message: string): string {
  if (language.value !== 'zh') return why.text;
  const head = chineseReason(why.code, why.params);
  if (head === null) return why.text;
  const detail = message || exitInChinese(why.params);
  return detail ? `${head}：${detail}` : `${head}。`;
}

/** The message of a row, as the list shows it. */
export function rowText(row: { message: string; reason?: Process['reason'] }): string {
  if (language.value !== 'zh' || !row.reason) return row.message;
  return whyText({ ...row.reason, text: row.message }, row.message);
}

function chineseReason(code: string, params: Params): string | null {
  const tried = Number(params.tried ?? 0);
  switch (code) {
    case 'running':
      return '正在运行';
    case 'ready':
      return '正在运行，已就绪';
    case 'not_ready':
      return params.check ? `正在运行，但未就绪（${params.check}）` : '正在运行，但未就绪';
    case 'starting':
      return '正在启动';
    case 'dependency':
      return `等待 ${dependenciesInChinese(params)}`;
    case 'unhealthy':
      return params.check ? `正在运行，但健康检查失败（${params.check}）` : '正在运行，但健康检查失败';
    case 'backoff':
      return tried > 0 ? `已退出，Agent 会再次启动（已尝试 ${tried} 次）` : '已退出，Agent 会再次启动';
    case 'gave_up':
      return tried > 0 ? `Agent 尝试 ${tried} 次后放弃` : '已退出，Agent 不再启动它';
    case 'stopped_by': {
      const by = params.user ? `由 ${params.user} ` : params.app ? `由应用 ${params.app} ` : '';
      const from = params.from ? `，来自 ${params.from}` : '';
      return `${by}停止（${opWord(String(params.op ?? 'stop'))}）${from}`;
    }
    case 'down':
      return '应当运行，但没有运行';
    case 'not_started':
      return '未要求运行';
    case 'completed':
      return '已运行结束';
    case 'scheduled':
      return '等待下一次运行';
    case 'not_reported':
      return 'Agent 尚未上报该进程';
    case 'agent_away':
      return 'Agent 离线';
    case 'no_agent':
      return '该主机从未有 Agent 连接';
    default:
      return null;
  }
}

const WHEN: Record<string, string> = { ready: '就绪', up: '运行', exited_ok: '以退出码 0 结束' };
const WHERE: Record<string, string> = { same_host: '在本机', any: '在任一主机', all: '在其所有主机' };

/** Three lists in the same order. */
function dependenciesInChinese(params: Params): string {
  const list = (key: string) => String(params[key] ?? '').split(/,\s*/);
  const [whens, wheres] = [list('when'), list('where')];
  const each = list('process')
    .filter(process => process !== '')
    .map((process, n) => `${process} ${WHERE[wheres[n] ?? ''] ?? ''}${WHEN[whens[n] ?? ''] ?? ''}`.trim());
  return each.length > 0 ? each.join('、') : '其他进程';
}

/** Why the last run ended. */
export function causeText(cause: { code: string; params: Record<string, string>; text: string }): string {
  if (language.value !== 'zh') return cause.text;
  const { params } = cause;
  switch (cause.code) {
    case 'exit':
      return `退出码 ${params.exit_code}`;
    case 'signal':
      return `被信号 ${params.signal} 终止`;
    case 'oom': {
      const used = params.used ? `，已用 ${bytes(Number(params.used))}` : '';
      const limit = params.limit ? `，上限 ${bytes(Number(params.limit))}` : '';
      return `内核因内存不足将其终止${used}${limit}`;
    }
    case 'limit':
      return `Agent 因超出资源限制将其终止：${cause.text}`;
    case 'health':
      return `Agent 因检查失败将其重启：${cause.text}`;
    case 'operator': {
      const by = params.user || params.app;
      const from = params.from ? `，来自 ${params.from}` : '';
      return `${by ? `${by} ` : ''}请求${opWord(String(params.op ?? 'stop'))}${from}`;
    }
    case 'host_restarted':
      return '主机重新启动';
    case 'not_seen':
      return 'Agent 没有观察到它如何结束';
    default:
      return cause.text;
  }
}

/** `exit` is the English words of the last exit. */
function exitInChinese(params: Params): string {
  const exit = String(params.exit ?? '');
  const code = /code (-?\d+)$/.exec(exit)?.[1];
  if (code !== undefined) return `上次退出码 ${code}`;
  const signal = /signal (\d+)$/.exec(exit)?.[1];
  return signal !== undefined ? `上次被信号 ${signal} 终止` : exit;
}

/** The sentence of an entry of the timeline. Who did it stands beside it. */
export function entryText(entry: Pick<TimelineEntry, 'code' | 'params' | 'text' | 'kind' | 'job_id'>): string {
  if (language.value !== 'zh') return entry.text;
  const { code, params } = entry;
  const hosts = params.hosts ? `（${params.hosts} 台主机）` : '';
  const job = entry.job_id ? `，作业 ${entry.job_id}` : '';
  if (entry.kind === 'operation') return `请求${opWord(code)}${hosts}${job}`;
  switch (code) {
    case 'agent_away':
      return 'Agent 断开连接';
    case 'agent_connected':
      return params.away_secs ? `Agent 在 ${duration(Number(params.away_secs) * 1000)}后重新连接` : 'Agent 首次连接';
    case 'registered':
      return `已注册${hosts}`;
    case 'updated':
      return `规格已更新${hosts}`;
    case 'unregistered':
      return `已注销${hosts}`;
    case 'released':
      return `已下发 ${params.path ?? '文件'}${hosts}${job}`;
    default:
      return eventText(code, entry.text);
  }
}

const EVENTS_IN_CHINESE: Record<string, string> = {
  process_exit: '进程退出',
  process_restart_success: '已自动重启',
  process_restart_failed: '自动重启失败',
  process_cancel_restart: '已放弃重启',
  process_resource_limit_exceed: '超出资源限制',
  process_group_resource_limit_exceed: '进程组超出资源限制',
  process_unhealthy: '健康检查连续失败',
  config_drift: '配置文件被改动',
  process_not_ready: '就绪探测连续失败',
  process_ready: '已恢复就绪',
};

/** An event: its kind in words, and the reason as the agent gave it. */
export function eventText(kind: string, reason: string): string {
  if (language.value !== 'zh') return reason;
  const word = EVENTS_IN_CHINESE[kind];
  return word ? `${word}：${reason}` : reason;
}
