/** One Streamable HTTP peer, to be run as a process of its own. Says its address to its parent. */

import { startHttpPeer } from '../support/mcp/http-peer.ts';

const peer = await startHttpPeer();
// What it notes for specs would grow with every call.
setInterval(() => {
  (peer.requests as unknown[]).length = 0;
  peer.work.calls.length = 0;
}, 100);
process.send?.(peer.url);
process.once('disconnect', () => process.exit(0));
