/** The command that makes a machine a host. The token stands in the environment, where other users cannot read it. */
import type { CreatedToken } from '../api/types';

export function joinCommand({ token, agents_address: address }: CreatedToken): string {
  const port = address?.split(':').pop() ?? 'PORT';
  return `MUSTER_JOIN_TOKEN=${token} muster agent --server ${location.hostname}:${port} --ip ADDRESS`;
}

/** Whether agents of other machines cannot reach the server that this page came from. */
export const takesOwnMachineOnly = ({ agents_address: address }: CreatedToken) =>
  /^(127\.|\[::1\])/.test(address ?? '');
