/**
 * A server on the public internet, here one that only a proxy can reach, and its authorization server try to make a login
 * ask a private address or one without TLS.
 */

import { request } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import t from 'tap';
import { listenHttp } from '../support/http-listener.ts';
import { folder, startGateway } from '../support/mcp/gateway.ts';
import { loginByControl } from '../support/oauth/control-login.ts';
import { pinnedTurn } from '../support/oauth/ports.ts';
import { type Answer, paths, redirectTo, startScriptedServer } from '../support/oauth/scripted-server.ts';
import { follow } from '../support/oauth/stage.ts';
import { makeCertificates } from '../support/tls.ts';

await pinnedTurn();

const hub = 'http://hub.invalid';
const issuer = 'https://mcp.test';

t.test('SEC-5 · no step of a login leads a public server inside or off TLS', async (t) => {
  const certificates = makeCertificates(folder(t));
  const tls = {
    cert: certificates.read(certificates.serverCert),
    key: certificates.read(certificates.serverKey),
  };
  const heard: string[] = [];
  const inside = async (secure: boolean): Promise<string> => {
    const { url } = await listenHttp(
      t,
      (seen, response) => {
        heard.push(`${seen.method} ${url}${seen.url}`);
        response.end('{}');
      },
      secure ? { tls } : {},
    );
    return url;
  };
  const [plain, secure] = [await inside(false), await inside(true)];

  const authority = await startScriptedServer(t);
  const metadata = (changes: Readonly<Record<string, unknown>> = {}): Answer => ({
    json: authority.metadata({
      issuer,
      token_endpoint: `${issuer}${paths.token}`,
      registration_endpoint: `${issuer}${paths.register}`,
      device_authorization_endpoint: `${issuer}${paths.device}`,
      ...changes,
    }),
  });
  /** The authorization server over TLS; the browser reaches it without. */
  const front = await listenHttp(
    t,
    (seen, response) => {
      const { method, url, headers } = seen;
      const onward = request(`${authority.origin}${url}`, { method, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(response);
      });
      seen.pipe(onward);
    },
    { tls },
  );
  let servers: readonly string[] = [issuer];
  let resourceMetadata: string | undefined;
  let challenge: string | undefined;
  // A proxy is asked for plain http by the whole address, and may answer by itself.
  const { url: proxy, server } = await listenHttp(t, async (seen, response) => {
    const { url = '' } = seen;
    if (!url.startsWith(`${hub}/`)) {
      heard.push(`proxied ${url}`);
      response.end('{}');
    } else if (!url.includes('/.well-known/')) {
      const body = await text(seen);
      if (challenge !== undefined && body.includes('login-probe')) response.writeHead(307, { location: challenge });
      else response.writeHead(401);
      response.end();
    } else if (!url.includes('/oauth-protected-resource')) {
      response.writeHead(404).end();
    } else if (resourceMetadata !== undefined) {
      response.writeHead(302, { location: resourceMetadata }).end();
    } else {
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ resource: `${hub}/mcp`, authorization_servers: servers }));
    }
  });
  server.on('connect', ({ url }, socket) => {
    if (url !== 'mcp.test:443') heard.push(`tunnel to ${url}`);
    const onward = connect(front.port, '127.0.0.1', () => socket.write('HTTP/1.1 200 OK\r\n\r\n'));
    for (const each of [socket, onward]) each.on('error', () => onward.destroy());
    socket.pipe(onward).pipe(socket);
  });

  const gateway = await startGateway(
    t,
    {
      hub: {
        ...{ url: `${hub}/mcp`, auth: 'oauth', ssl_verify: certificates.ca, cross_origin_redirects: true },
      },
    },
    { env: { HTTP_PROXY: proxy, HTTPS_PROXY: proxy, NO_PROXY: '' } },
  );
  const reset = (): void => {
    servers = [issuer];
    resourceMetadata = challenge = undefined;
    for (const path of Object.values(paths)) authority.on(path, undefined);
    authority.on(paths.metadata, () => metadata());
    authority.on(paths.authorize, (seen) => {
      const answer = authority.usual(seen);
      return answer.kind === 'redirect' ? { ...answer, to: redirectTo(answer.to, { iss: issuer }) } : answer;
    });
  };
  const login = async (flow: 'browser' | 'device' = 'browser'): Promise<string> => {
    const running = await loginByControl(t, gateway.home, 'hub', { flow }, flow === 'browser' ? follow : () => {});
    const ended = await running.ended;
    running.cancel();
    return ended;
  };

  reset();
  t.equal(await login(), 'loggedIn', 'a server that leads nowhere else');

  const elsewhere = 'http://as.invalid';
  const away = (to: string): Answer => ({ kind: 'redirect', status: 307, to });
  /** Without resource metadata the server itself is asked, which has no TLS. */
  const isUnread =
    /\(302 from http:\/\/hub\.invalid\/\.well-known\/.*\): the registration endpoint is not served over https \(http:\/\/hub\.invalid\)/;
  const isInside = /127\.0\.0\.1 is not on the public internet.*\[leads-inside\].*\[login-stopped\]$/;
  const isPlain = /not served over https \(http:\/\/as\.invalid\).*\[login-stopped\]$/;
  const endpoint = (key: string, path: string, to: string) => () =>
    authority.on(paths.metadata, () => metadata({ [key]: `${to}${path}` }));
  const rows: readonly (readonly [string, () => void, RegExp, 'device'?])[] = [
    ...[plain, secure].flatMap((to) => {
      const at = to === plain ? 'inside' : 'inside over TLS';
      return [
        [`an authorization server ${at}`, () => (servers = [to]), isInside],
        [`resource metadata that moved ${at}`, () => (resourceMetadata = `${to}/meta`), isUnread],
        [`registration ${at}`, endpoint('registration_endpoint', paths.register, to), isInside],
        [`a token endpoint ${at}`, endpoint('token_endpoint', paths.token, to), isInside],
        [
          `a device endpoint ${at}`,
          endpoint('device_authorization_endpoint', paths.device, to),
          to === plain ? /only requests to HTTPS are allowed/ : isInside,
          'device',
        ],
      ] as const;
    }),
    ['an authorization server without TLS', () => (servers = [elsewhere]), isPlain],
    ['resource metadata that moved off TLS', () => (resourceMetadata = `${elsewhere}/meta`), isUnread],
    ['registration without TLS', endpoint('registration_endpoint', paths.register, elsewhere), isPlain],
    ['a token endpoint without TLS', endpoint('token_endpoint', paths.token, elsewhere), /http:\/\/as\.invalid/],
    [
      'a device endpoint without TLS',
      endpoint('device_authorization_endpoint', paths.device, elsewhere),
      isPlain,
      'device',
    ],
    [
      'metadata that moved inside',
      () => {
        authority.on(paths.metadata, away(`${secure}/meta`));
        authority.on(paths.register, { status: 404, json: {} });
      },
      /\(307 from https:\/\/mcp\.test\/\.well-known\/.*\): Registration failed: 404/,
    ],
    [
      'registration that moved inside',
      () => authority.on(paths.register, away(`${secure}/register`)),
      /Registration failed: 307/,
    ],
    [
      'a token endpoint that moved inside',
      () => authority.on(paths.token, away(`${secure}/token`)),
      /token endpoint answered HTTP 307/,
    ],
    [
      'a device endpoint that moved inside',
      () => authority.on(paths.device, away(`${secure}/device`)),
      /gave no device code/,
      'device',
    ],
    ['a challenge that moved inside', () => (challenge = `${secure}/mcp`), /^loggedIn$/],
    ['a challenge that moved off TLS', () => (challenge = `${elsewhere}/mcp`), /^loggedIn$/],
  ];
  for (const [name, arrange, expected, flow] of rows) {
    reset();
    arrange();
    t.match(await login(flow), expected, name);
    t.same(heard.splice(0), [], `${name}: nothing arrives there`);
  }

  reset();
  t.equal(await login(), 'loggedIn', 'and the next one is a login again');
});
