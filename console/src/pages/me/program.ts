/** Browsers name themselves at length; the last known name of a browser counts, else the first word. */
export function programOf(agent: string): string {
  const browsers = [...agent.matchAll(/(Firefox|Edg|OPR|Chrome|Version)\/([\d.]+)/g)];
  const chosen = browsers.find(found => found[1] === 'Edg' || found[1] === 'OPR') ?? browsers[0];
  const system = /\(([^;)]+)/.exec(agent)?.[1];
  if (!chosen) return agent.split(' ')[0] ?? agent;
  const names: Record<string, string> = { Edg: 'Edge', OPR: 'Opera', Version: 'Safari' };
  const name = `${names[chosen[1] ?? ''] ?? chosen[1]} ${chosen[2]?.split('.')[0]}`;
  return system ? `${name} (${system})` : name;
}
