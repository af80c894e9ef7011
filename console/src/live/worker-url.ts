/** The address of the worker script. Trusted Types lets it pass only through the policy `muster-worker`, which knows no other address. */
import url from './worker?sharedworker&url';

interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { createScriptURL(url: string): string },
  ): { createScriptURL(url: string): unknown };
}

export function workerUrl(): string {
  const types = (globalThis as { trustedTypes?: TrustedTypes }).trustedTypes;
  if (!types) return url;
  const policy = types.createPolicy('muster-worker', {
    createScriptURL: wanted => {
      if (wanted !== url) throw new TypeError(`not the worker: ${wanted}`);
      return wanted;
    },
  });
  return policy.createScriptURL(url) as string;
}
