import t from 'tap';
import {
  type CallbackPlan,
  callbackHost,
  pinnedPorts,
  planCallback,
  redirectUriOf,
} from '../../../machines/oauth/callback-port.ts';
import { readOauthSettings } from '../../../machines/oauth/oauth-settings.ts';

const settings = (oauth: Record<string, string | number | boolean> = {}) => readOauthSettings({ oauth });
const never = { documents: undefined, registered: false };
const reached = { documents: true, registered: false };
const registeredUri = 'http://127.0.0.1:4567/callback';
const pinned: CallbackPlan = { kind: 'pinned', ports: pinnedPorts };
const random: CallbackPlan = { kind: 'random' };

t.test('OAU-6 · the five ports are those that a document declares', (t) => {
  t.same(pinnedPorts, [27_890, 27_891, 27_892, 27_893, 27_894]);
  t.end();
});

t.test('OAU-6 · a flow that could end with a document is pinned, each exception takes any port', (t) => {
  const rows: readonly (readonly [string, CallbackPlan, Parameters<typeof planCallback>])[] = [
    ['never reached', pinned, [settings(), never, 'terminal']],
    ['reached, takes documents', pinned, [settings(), { documents: true, registered: false }, 'terminal']],
    ['reached, takes none', random, [settings(), { documents: false, registered: false }, 'terminal']],
    ['a document of its own', pinned, [settings({ client_metadata_url: 'https://a.b/c' }), never, 'terminal']],
    ['a registration on disk', random, [settings(), { documents: true, registered: true }, 'terminal']],
    [
      'a registration on disk that can be used again: its port, else any',
      { kind: 'pinned', ports: [4_567] },
      [settings({ client_name: 'n' }), { ...reached, registered: true, registeredUri }, 'terminal'],
    ],
    [
      'but not one of the five',
      random,
      [settings(), { ...reached, registered: true, registeredUri: 'http://127.0.0.1:27890/callback' }, 'terminal'],
    ],
    [
      'the same from the page',
      { kind: 'pinned', ports: [4_567] },
      [settings(), { ...reached, registered: true, registeredUri }, 'page'],
    ],
    [
      'a document that may be shown, whatever stood in for it',
      pinned,
      [settings({ client_metadata_url: 'https://a.b/c' }), { ...reached, registered: true, registeredUri }, 'terminal'],
    ],
    [
      'a document that was refused',
      { kind: 'pinned', ports: [4_567] },
      [
        settings({ client_metadata_url: 'https://a.b/c' }),
        { ...reached, documentRefused: true, registered: true, registeredUri },
        'terminal',
      ],
    ],
    [
      'a client of one’s own',
      random,
      [settings({ client_id: 'c' }), { ...reached, registered: true, registeredUri }, 'terminal'],
    ],
    ['begun from the page', random, [settings(), never, 'page']],
    ['client_id', random, [settings({ client_id: 'c' }), never, 'terminal']],
    ['client_secret', random, [settings({ client_secret: 's' }), never, 'terminal']],
    ['client_name', random, [settings({ client_name: 'n' }), never, 'terminal']],
    ['token_endpoint_auth_method', random, [settings({ token_endpoint_auth_method: 'none' }), never, 'terminal']],
    ['cimd: false', random, [settings({ cimd: false }), never, 'terminal']],
    ['an empty client_id is none', pinned, [settings({ client_id: ' ' }), never, 'terminal']],
    ['redirect_port', { kind: 'fixed', port: 4_000 }, [settings({ redirect_port: 4_000 }), never, 'terminal']],
    [
      'redirect_uri with a port',
      { kind: 'fixed', port: 5_000 },
      [settings({ redirect_uri: 'http://localhost:5000/cb' }), never, 'terminal'],
    ],
    [
      'redirect_port before redirect_uri',
      { kind: 'fixed', port: 4_000 },
      [settings({ redirect_port: 4_000, redirect_uri: 'https://tunnel.example/cb' }), never, 'terminal'],
    ],
    [
      'redirect_uri without a port',
      random,
      [settings({ redirect_uri: 'https://tunnel.example/cb' }), never, 'terminal'],
    ],
  ];
  for (const [what, expected, question] of rows) t.same(planCallback(...question), expected, what);
  t.end();
});

t.test('OAU-6 · the redirect is the bound port’s, unless it is configured', (t) => {
  t.equal(redirectUriOf(settings(), 27_891), 'http://127.0.0.1:27891/callback');
  t.equal(redirectUriOf(settings({ redirect_uri: 'https://tunnel.example/cb' }), 1), 'https://tunnel.example/cb');
  t.end();
});

t.test('OAU-6 · the redirect is awaited at the address of this machine that is configured', (t) => {
  const rows: readonly (readonly [string, string])[] = [
    ['', '127.0.0.1'],
    ['http://[::1]:8976/callback', '::1'],
    ['http://127.0.0.2:8976/callback', '127.0.0.2'],
    ['http://localhost:8976/callback', '127.0.0.1'],
    ['http://agent.localhost:8976/callback', '127.0.0.1'],
    ['https://tunnel.example/callback', '127.0.0.1'],
  ];
  for (const [redirect_uri, host] of rows) t.equal(callbackHost(settings({ redirect_uri })), host, redirect_uri);
  t.end();
});
