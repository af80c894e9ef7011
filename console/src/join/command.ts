/** The line that makes a machine a host: the server's own, so that console and CLI show the same. */
import type { CreatedToken } from '../api/types';

export const joinCommand = ({ token, install }: CreatedToken): string =>
  install ?? `curl -fsS ${location.origin}/install.sh | sh -s -- --token ${token}`;

/** Whether agents of other machines cannot reach the server that this page came from. */
export const takesOwnMachineOnly = ({ agents_address: address }: CreatedToken) =>
  /^(127\.|\[::1\])/.test(address ?? '');
