/** Numbers, sizes and times as people read them, in the language of the console. */
import { language, locale } from './i18n';

const cache = new Map<string, Intl.NumberFormat | Intl.DateTimeFormat>();

function made<T extends Intl.NumberFormat | Intl.DateTimeFormat>(key: string, make: (locale: string) => T): T {
  const full = `${locale()} ${key}`;
  let found = cache.get(full);
  if (!found) {
    found = make(locale());
    cache.set(full, found);
  }
  return found as T;
}

export const count = (n: number) => made('n', l => new Intl.NumberFormat(l)).format(n);

/** One decimal, so that a column of figures lines up. */
export const decimal = (n: number) =>
  made('d', l => new Intl.NumberFormat(l, { minimumFractionDigits: 1, maximumFractionDigits: 1 })).format(n);

/** As many decimals as it has, at most three, for the scale of a chart. */
export const scaleNumber = (n: number) => made('s', l => new Intl.NumberFormat(l)).format(n);

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

export function bytes(n: number): string {
  let unit = 0;
  let value = n;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${unit === 0 ? count(value) : decimal(value)} ${UNITS[unit]}`;
}

const STEPS: [number, string, string][] = [
  [86_400_000, 'd', '天'],
  [3_600_000, 'h', '小时'],
  [60_000, 'min', '分'],
  [1000, 's', '秒'],
];

/** The two largest units: "3 d 4 h", "52 s". */
export function duration(ms: number): string {
  const chinese = language.value === 'zh';
  const parts: string[] = [];
  let rest = Math.max(0, ms);
  for (const [size, en, zh] of STEPS) {
    const n = Math.floor(rest / size);
    if (n > 0 || (size === 1000 && parts.length === 0)) parts.push(chinese ? `${n} ${zh}` : `${n} ${en}`);
    else if (parts.length > 0) break;
    rest -= n * size;
    if (parts.length === 2) break;
  }
  return parts.join(' ');
}

/** A host's address, with its cloud area if that is not the default one. */
export const hostText = (host: string) => host.replace(/^0:/, '');

/** How long something took, for narrow columns: "331ms", "1.2s", "3m". */
export function shortTook(ms: number): string {
  if (ms < 1000) return `${ms}ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)}${language.value === 'zh' ? '秒' : 's'}`;
  return shortDuration(ms);
}

/** The largest unit alone, for narrow columns: "3d", "52s". */
export function shortDuration(ms: number): string {
  const chinese = language.value === 'zh';
  for (const [size, en, zh] of STEPS) {
    if (ms >= size || size === 1000)
      return `${Math.max(0, Math.floor(ms / size))}${chinese ? zh : en === 'min' ? 'm' : en}`;
  }
  return '';
}

export const dateTime = (at: number) =>
  made(
    't',
    l =>
      new Intl.DateTimeFormat(l, {
        year: 'numeric',
        month: '2-digit',
        day: '2-digit',
        hour: '2-digit',
        minute: '2-digit',
        second: '2-digit',
        hourCycle: 'h23',
      }),
  ).format(at);

/** The time of day without seconds, unless they tell times apart. */
export const clock = (at: number, seconds = false) =>
  seconds
    ? timeOfDay(at)
    : made('c', l => new Intl.DateTimeFormat(l, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })).format(at);

export const timeOfDay = (at: number) =>
  made(
    'h',
    l => new Intl.DateTimeFormat(l, { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' }),
  ).format(at);

export const utc = (at: number) => `${new Date(at).toISOString().replace('T', ' ').slice(0, 19)} UTC`;
