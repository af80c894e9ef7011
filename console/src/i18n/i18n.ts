/**
 * Languages of the console. A page keeps its texts in its own `strings.ts`, so they load with the page:
 *
 *     export const t = defineStrings({ en: { title: 'Hosts' }, zh: { title: '主机' } });
 *     <h1>{t().title}</h1>
 *
 * A key that one language lacks does not compile. A text with parameters is a function.
 */
import { kept } from '../kept';

export type Language = 'en' | 'zh';

interface Texts {
  [key: string]: string | ((...args: never[]) => string) | Texts;
}

type Translated<T> = {
  [K in keyof T]: T[K] extends (...args: infer A) => string
    ? (...args: A) => string
    : T[K] extends string
      ? string
      : Translated<T[K]>;
};

const KEY = 'muster.language';

export function chooseLanguage(stored: string | null, wanted: readonly string[]): Language {
  if (stored === 'en' || stored === 'zh') return stored;
  const first = wanted.find(tag => /^(en|zh)\b/i.test(tag));
  return first?.toLowerCase().startsWith('zh') ? 'zh' : 'en';
}

export const language = kept<Language>(KEY, stored =>
  typeof document === 'undefined' ? 'en' : chooseLanguage(stored, navigator.languages),
);

export function setLanguage(chosen: Language) {
  localStorage.setItem(KEY, chosen);
  language.value = chosen;
}

/** Reading the texts in a component renders it again when the language changes. */
export function defineStrings<T extends Texts>(tables: {
  en: T;
  zh: Translated<T>;
}): (() => T) & { tables: typeof tables } {
  const read = () => tables[language.value] as T;
  return Object.assign(read, { tables });
}

/** English needs two forms, Chinese one. */
export const plural = (n: number, one: string, many: string) => (n === 1 ? one : many);

/** The BCP 47 tag for Intl. */
export const locale = () => (language.value === 'zh' ? 'zh-CN' : 'en-GB');
