declare module 'js-yaml' {
  export function load(text: string, options?: { schema?: unknown }): unknown;
  export const CORE_SCHEMA: unknown;
}
