/**
 * The state of a page as a query string, and back. Everything that decides what a page shows is in its address, so a link
 * shows the same rows, order and drawer to another person. Defaults are left out; the order of parameters is fixed.
 */

export interface Param<T> {
  read(values: string[]): T;
  /** No values: leave it out. */
  write(value: T): string[];
}

export const text = (fallback = ''): Param<string> => ({
  read: values => values[0] ?? fallback,
  write: value => (value === fallback ? [] : [value]),
});

/** Several values in one parameter, separated by commas; for values that have no comma. */
export const list = (): Param<string[]> => ({
  read: values => [...new Set(values.flatMap(value => value.split(',')).filter(value => value !== ''))],
  write: values => (values.length === 0 ? [] : [values.join(',')]),
});

/** Several values, each a parameter of its own; for values that may have commas. */
export const repeated = (): Param<string[]> => ({
  read: values => [...new Set(values.filter(value => value !== ''))],
  write: values => values,
});

export const choice = <const T extends string>(options: readonly T[], fallback: T): Param<T> => ({
  read: values => options.find(option => option === values[0]) ?? fallback,
  write: value => (value === fallback ? [] : [value]),
});

/** Yes, no, or not asked for. */
export const flag = (): Param<boolean | null> => ({
  read: values => (values[0] === 'true' ? true : values[0] === 'false' ? false : null),
  write: value => (value === null ? [] : [String(value)]),
});

export interface Codec<T> {
  read(search: string): T;
  /** With the `?`, or empty. */
  write(state: Partial<T>): string;
}

export function codec<T extends object>(shape: { [K in keyof T]: Param<T[K]> }): Codec<T> {
  const entries = Object.entries(shape) as [keyof T & string, Param<unknown>][];
  return {
    read(search) {
      const params = new URLSearchParams(search);
      return Object.fromEntries(entries.map(([key, param]) => [key, param.read(params.getAll(key))])) as T;
    },
    write(state) {
      return queryString(
        entries.flatMap(([key, param]) =>
          state[key] === undefined ? [] : param.write(state[key]).map((value): [string, string] => [key, value]),
        ),
      );
    },
  };
}

/** Leaves readable what may stand in a query: `host=0:10.0.0.1,0:10.0.0.2`. */
export function queryString(pairs: [string, string][]): string {
  if (pairs.length === 0) return '';
  return `?${pairs.map(([key, value]) => `${readable(key)}=${readable(value)}`).join('&')}`;
}

const readable = (part: string) =>
  encodeURIComponent(part)
    .replace(/%(2C|3A|2F|40)/g, escaped => decodeURIComponent(escaped))
    .replace(/%20/g, '+');

/** A segment of a path. `:` stays readable, `/` does not. */
export const segment = (part: string) =>
  encodeURIComponent(part).replace(/%(3A|40|2C)/g, escaped => decodeURIComponent(escaped));
