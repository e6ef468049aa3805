/** What a transport needs beside its entry, for specs that look at neither log nor environment. */

import type { TransportPorts } from '../../../actors/mcp/transports.ts';

export const quietPorts: TransportPorts = {
  log: { log: () => {}, warnOnce: () => {} },
  onStderr: () => {},
  cwd: process.cwd(),
  userHome: '/nowhere',
  env: {},
  version: '1.2.3',
};
