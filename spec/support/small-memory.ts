/** A daemon in whose memory two runs and two deliveries may wait; more wait on disk. */

import { runDaemon } from '../../runtime/daemon.ts';

process.exitCode = await runDaemon({
  home: process.env.AGENT_HOME ?? '',
  env: process.env,
  version: 'small',
  mostWaiting: 2,
});
