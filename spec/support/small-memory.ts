/** A daemon whose memory has room for four runs and four deliveries, two of one route or target; more wait on disk. */

import { runDaemon } from '../../runtime/daemon.ts';

process.exitCode = await runDaemon({
  home: process.env.AGENT_HOME ?? '',
  env: process.env,
  version: 'small',
  maxWaiting: 4,
});
