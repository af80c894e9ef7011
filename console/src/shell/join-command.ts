/** The command that makes a machine a host. The token stands in the environment, where other users cannot read it. */
export const joinCommand = (token: string) =>
  `MUSTER_JOIN_TOKEN=${token} muster agent --server ${location.hostname}:7101 --ip ADDRESS`;
