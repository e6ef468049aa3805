/** A server on the public internet, here one that only a proxy can reach, tries to send the gateway to a private address. */

import t from 'tap';
import { startDaemon } from '../support/daemon.ts';
import { makeHome } from '../support/home.ts';
import { listenHttp } from '../support/http-listener.ts';
import { webhookConfig } from '../support/webhook-home.ts';

t.test('SEC-5 · a public server that redirects inside fails with the target, and nothing arrives there', async (t) => {
  const heard: string[] = [];
  const { port: inside } = await listenHttp(t, ({ method, url }, response) => {
    heard.push(`${method} ${url}`);
    response.end();
  });
  // A proxy is asked for plain http by the whole address, and may answer by itself.
  const { url: proxy } = await listenHttp(t, ({ method }, response) => {
    const status = method === 'POST' ? 307 : 302;
    response.writeHead(status, { location: `http://127.0.0.1:${inside}/latest/meta-data` }).end();
  });
  const home = makeHome(t, {
    'config.yaml': `${webhookConfig('        any: {}\n')}
mcp_servers:
  posts: {url: "http://hub.invalid/mcp", skip_preflight: true, cross_origin_redirects: true}
  streams: {url: "http://hub.invalid/sse", transport: sse}
`,
  });
  const daemon = await startDaemon(t, home.path, { HTTP_PROXY: proxy, NO_PROXY: '' });

  for (const name of ['posts', 'streams']) {
    const line = await daemon.line(({ message }) => message.includes(`"${name}"`) && message.includes('leads-inside'));
    t.match(line.message, /its redirect to http:\/\/127\.0\.0\.1:\d+\/latest\/meta-data is not followed/);
  }
  t.same(heard, []);
});
