import t from 'tap';
import {
  chooseDeviceIdentity,
  chooseIdentity,
  type IdentityQuestion,
  type StoredClient,
} from '../../../machines/oauth/client-identity.ts';
import { readOauthSettings } from '../../../machines/oauth/oauth-settings.ts';

const document = 'https://agent.test/client.json';
const issuer = 'https://as.example';
const pinned = 'http://127.0.0.1:27892/callback';
const taking = { issuer, registration_endpoint: `${issuer}/reg`, client_id_metadata_document_supported: true };
const registering = { issuer, registration_endpoint: `${issuer}/reg` };
const stored: StoredClient = { issuer, clientId: 'old', redirectUri: pinned };
const base: IdentityQuestion = {
  settings: readOauthSettings({ oauth: { client_metadata_url: document } }),
  metadata: taking,
  issuer,
  stored: undefined,
  documentRefused: false,
  redirectUri: pinned,
  scope: undefined,
};
const byDocument = { kind: 'document', client: { clientId: document } };

t.test('OAU-4 · who the client is, case by case', (t) => {
  const none = { kind: 'none', why: /set oauth\.client_id/ };
  const rows: readonly (readonly [string, Partial<IdentityQuestion>, object])[] = [
    ['the document, where it is taken', {}, byDocument],
    ['a registration where documents are not taken', { metadata: registering }, { kind: 'register' }],
    [
      'nothing but true says that they are',
      { metadata: { ...registering, client_id_metadata_document_supported: 'true' } },
      { kind: 'register' },
    ],
    [
      'cimd: false',
      { settings: readOauthSettings({ oauth: { client_metadata_url: document, cimd: false } }) },
      { kind: 'register' },
    ],
    ['refused before', { documentRefused: true }, { kind: 'register' }],
    ['no document', { settings: readOauthSettings({}) }, { kind: 'register' }],
    [
      'a redirect that the document does not declare',
      { redirectUri: 'http://127.0.0.1:4000/callback' },
      { kind: 'register' },
    ],
    ['localhost is declared too', { redirectUri: 'http://localhost:27894/callback' }, byDocument],
    ['another path is not', { redirectUri: 'http://localhost:27894/cb' }, { kind: 'register' }],
    ['the document before an old registration', { stored }, byDocument],
    ['an old registration', { documentRefused: true, stored }, { kind: 'stored', client: stored }],
    [
      'never another issuer’s registration',
      { documentRefused: true, stored: { ...stored, issuer: 'https://other.example' } },
      { kind: 'register' },
    ],
    [
      'nor one for another redirect',
      { documentRefused: true, stored: { ...stored, redirectUri: 'http://127.0.0.1:1/callback' } },
      { kind: 'register' },
    ],
    ...(
      [
        ['under another name', { ...stored, clientName: 'n' }, {}],
        ['with another method', stored, { token_endpoint_auth_method: 'client_secret_post' }],
      ] as const
    ).map(
      ([what, client, oauth]) =>
        [
          `nor one ${what}`,
          { documentRefused: true, stored: client, settings: readOauthSettings({ oauth }) },
          { kind: 'register' },
        ] as const,
    ),
    [
      'nor one for a narrower scope',
      { documentRefused: true, stored: { ...stored, scope: 'a b' }, scope: 'a b c' },
      { kind: 'register' },
    ],
    [
      'one for a wider scope is good',
      { documentRefused: true, stored: { ...stored, scope: 'c b a' }, scope: 'a b' },
      { kind: 'stored' },
    ],
    [
      'nor one for the device grant',
      { documentRefused: true, stored: { issuer, clientId: 'device' } },
      { kind: 'register' },
    ],
    ['a server without metadata', { metadata: {} }, { kind: 'register' }],
    ['no way at all', { metadata: { issuer } }, none],
    [
      'the document all the same where nothing else is left',
      {
        metadata: { issuer, client_id_metadata_document_supported: true },
        redirectUri: 'http://127.0.0.1:4000/callback',
      },
      byDocument,
    ],
    [
      'the configured client before everything',
      {
        stored,
        settings: readOauthSettings({
          oauth: {
            client_id: 'c',
            client_secret: 's',
            token_endpoint_auth_method: 'client_secret_post',
            client_metadata_url: document,
          },
        }),
      },
      { kind: 'configured', client: { clientId: 'c', clientSecret: 's', authMethod: 'client_secret_post' } },
    ],
  ];
  for (const [what, change, expected] of rows) t.match(chooseIdentity({ ...base, ...change }), expected, what);
  t.end();
});

t.test('DEV-3 · a device login never shows a document: the configured client, or a registration', (t) => {
  t.same(chooseDeviceIdentity(base.settings, taking), { kind: 'register' });
  t.match(chooseDeviceIdentity(base.settings, { issuer, client_id_metadata_document_supported: true }), {
    kind: 'none',
    why: /set oauth\.client_id/,
  });
  t.same(chooseDeviceIdentity(readOauthSettings({ oauth: { client_id: 'c' } }), { issuer }), {
    kind: 'configured',
    client: { clientId: 'c' },
  });
  t.end();
});
