import t from 'tap';
import { checkSecrets } from '../../../runtime/doctor/check-secrets.ts';
import { codes, examined, troubles } from '../../support/examined.ts';

const strong = 'k3Yq9-vT7mZ1pX4w';

t.test('SIG-5 · SEC-6 · CLI-2 · weak and open secrets are reported, and never shown', (t) => {
  const rows: readonly (readonly [string, readonly string[]])[] = [
    [`extra: {secret: "\${WEBHOOK_SECRET}"}, routes: {r: {prompt: p}}`, []],
    [`extra: {secret: ${strong}}`, ['note secret-open']],
    ['host: 127.0.0.1, extra: {secret: hunter2-x}', ['warning secret-weak', 'note secret-open']],
    // The configuration's own findings report it.
    ['host: 0.0.0.0, extra: {secret: hunter2-x}', ['note secret-open']],
    ['host: 0.0.0.0, allow_weak_secrets: true, extra: {secret: hunter2-x}', ['note secret-open']],
    [
      `host: 127.0.0.1, extra: {secret: "\${WEBHOOK_SECRET}"}, routes: {r: {prompt: p, secret: hunter2-x}}`,
      ['note secret-open', 'warning secret-weak'],
    ],
    ['host: 127.0.0.1, routes: {r: {prompt: p, secret: INSECURE_NO_AUTH}}', ['warning unsigned-route']],
    [
      'host: 127.0.0.1, public_url: "https://a.example", secret: hunter2-x, routes: {r: {prompt: p, secret: INSECURE_NO_AUTH}}',
      ['note secret-open'],
    ],
  ];
  for (const [webhook, expected] of rows) {
    const one = examined(t, {
      'config.yaml': `platforms: {webhook: {enabled: true, ${webhook}}}\n`,
      '.env': `WEBHOOK_SECRET=${strong}\n`,
    });
    const found = checkSecrets(one);
    t.same(codes(found), expected, webhook);
    t.notMatch(JSON.stringify(found), /hunter2|k3Yq9/);
  }
  t.end();
});

t.test('SIG-5 · CLI-2 · each of several weak secrets of a route is named by its position', (t) => {
  const one = examined(t, {
    'config.yaml': `platforms: {webhook: {enabled: true, host: 127.0.0.1, routes: {r: {prompt: p, secret: ["\${A}", "\${B}", "\${C}"]}}}}\n`,
    '.env': `A=hunter2-x\nB=${strong}\nC=hunter3-x\n`,
  });
  t.same(
    troubles(checkSecrets(one)).map(({ place }) => place),
    ['secret 1 of route r', 'secret 3 of route r'],
  );
  t.end();
});

t.test('OBS-1 · CLI-2 · a secret in a config.yaml is reported by its place, whatever it opens', (t) => {
  const one = examined(t, {
    'config.yaml': `gateway: {multiplex_profiles: true}
agent: {model: {provider: anthropic, base_url: https://m.example, api_key: ${strong}, name: m}}
platforms: {telegram: {enabled: true, token: "\${TOKEN}"}, discord: {enabled: true, token: ${strong}}}
mcp_servers:
  hub: {url: https://mcp.example/mcp, headers: {Authorization: Bearer ${strong}, X-Team: a}, client_cert: /c.pem, client_key: /c.key, oauth: {client_secret: ${strong}}}
  own: {command: x, env: {A_TOKEN: "\${A_TOKEN}", B_PASSWORD: ${strong}, MODE: plain}}
  vault-token: {command: x, args: [serve]}
`,
    'profiles/work/config.yaml': `mcp_servers: {one: {command: x, env: {API_KEY: ${strong}}}}\n`,
  });
  const found = troubles(checkSecrets(one));
  t.same(
    found.map(({ place }) => place),
    [
      'config.yaml: agent.model.api_key',
      'config.yaml: platforms.discord.token',
      'config.yaml: mcp_servers.hub.headers.Authorization',
      'config.yaml: mcp_servers.hub.oauth.client_secret',
      'config.yaml: mcp_servers.own.env.B_PASSWORD',
      'profiles/work/config.yaml: mcp_servers.one.env.API_KEY',
    ],
  );
  t.notMatch(JSON.stringify(found), strong);
  t.match(found[0], { level: 'note', code: 'secret-open', cure: /^move it into \.env/ });
  t.end();
});

t.test('PRF-2 · CLI-2 · so are those of a profile, by its own name', (t) => {
  const files = {
    'config.yaml':
      'gateway: {multiplex_profiles: true}\nplatforms: {webhook: {enabled: true, host: 127.0.0.1, secret: "${WEBHOOK_SECRET}"}}\n',
    '.env': `WEBHOOK_SECRET=${strong}\n`,
  };
  const told = (config: string, env = '') =>
    troubles(
      checkSecrets(examined(t, { ...files, 'profiles/work/config.yaml': `${config}\n`, 'profiles/work/.env': env })),
    ).map(({ code, place }) => [code, place]);
  t.same(told('platforms: {webhook: {routes: {r: {}}}}'), [], "it is the home's");
  t.same(told('', 'WEBHOOK_SECRET=hunter2-x'), [['secret-weak', 'the webhook secret of profile work']]);
  t.same(told(`platforms: {webhook: {secret: ${strong}x}}`), [
    ['secret-open', 'profiles/work/config.yaml: platforms.webhook.secret'],
  ]);
  t.end();
});
