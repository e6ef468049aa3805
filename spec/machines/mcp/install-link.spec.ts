import t from 'tap';
import { readInstallLink } from '../../../machines/mcp/install-link.ts';
import { fc } from '../../support/property.ts';

const base64 = (text: string | Uint8Array): string => Buffer.from(text).toString('base64');
const base64url = (text: string): string => Buffer.from(text).toString('base64url');
const link = (name: string, config: string): string =>
  `agent://mcp/install?name=${encodeURIComponent(name)}&config=${config}`;
const good = JSON.stringify({ url: 'https://mcp.example.com/mcp' });

t.test('LNK-1 · reads a url or a command, base64url or base64, padded or not', async (t) => {
  const command = { command: 'npx', args: ['-y', 'some-server', '~~~???>>>'] };
  for (const config of [base64url(JSON.stringify(command)), encodeURIComponent(base64(JSON.stringify(command)))]) {
    const reading = readInstallLink(link('my.server-1_x', config));

    t.same(reading, { kind: 'link', link: { name: 'my.server-1_x', config: command } });
  }
  // A raw plus in a query is read as a space.
  t.equal(readInstallLink(link('x', base64(JSON.stringify(command)).replace(/=+$/, ''))).kind, 'link');
});

t.test('LNK-1 · each violation has its own error', async (t) => {
  const rows: readonly (readonly [string, string, string])[] = [
    ['another scheme', `https://mcp/install?name=x&config=${base64url(good)}`, 'link-form'],
    ['another path', `agent://mcp/remove?name=x&config=${base64url(good)}`, 'link-form'],
    ['a fragment', `agent://mcp/install?name=x&config=${base64url(good)}#y`, 'link-form'],
    ['no name', `agent://mcp/install?config=${base64url(good)}`, 'link-name'],
    ['two names', `agent://mcp/install?name=a&name=b&config=${base64url(good)}`, 'link-name'],
    ['a traversal', link('../x', base64url(good)), 'link-name'],
    ['dots alone', link('..', base64url(good)), 'link-name'],
    ['65 letters', link('x'.repeat(65), base64url(good)), 'link-name'],
    ['a letter of another alphabet', link('ж', base64url(good)), 'link-name'],
    ['no config', 'agent://mcp/install?name=x', 'link-config-missing'],
    ['an empty config', link('x', ''), 'link-config-missing'],
    [
      '33 KB',
      link('x', base64url(JSON.stringify({ url: 'https://x.y', headers: { a: 'x'.repeat(33 * 1024) } }))),
      'link-too-long',
    ],
    ['a megabyte', link('x', 'A'.repeat(1_000_000)), 'link-too-long'],
    ['no base64', link('x', '%7B%22%7D'), 'link-base64'],
    ['a letter too many', link('x', 'AAAAA'), 'link-base64'],
    ['no UTF-8', link('x', Buffer.from([0x7b, 0xff, 0x7d]).toString('base64url')), 'link-utf8'],
    ['no JSON', link('x', base64url('{')), 'link-json'],
    ['a list', link('x', base64url('[]')), 'link-not-object'],
    ['null', link('x', base64url('null')), 'link-not-object'],
    ['neither', link('x', base64url('{}')), 'link-no-server'],
    ['a url that is no text', link('x', base64url('{"url":1}')), 'link-no-server'],
    ['both', link('x', base64url('{"url":"https://a.b","command":"c"}')), 'link-two-servers'],
    ['another protocol', link('x', base64url('{"url":"file:///etc/passwd"}')), 'link-url'],
    ['a script', link('x', base64url('{"url":"javascript:alert(1)"}')), 'link-url'],
    ['a reference', link('x', base64url('{"url":"https://a.b","headers":{"X":"${SECRET}"}}')), 'link-reference'],
    ['one in the query', link('x', base64url('{"url":"https://a.b/?k=${env:KEY}"}')), 'link-reference'],
    ['one in a list', link('x', base64url('{"command":"c","args":["-x",["${HOME}"]]}')), 'link-reference'],
    [
      'one deep inside',
      link('x', base64url('{"url":"https://a.b","oauth":{"client_secret":"a${B}"}}')),
      'link-reference',
    ],
    ['the home', link('x', base64url('{"command":"c","cwd":"${userHome}"}')), 'link-reference'],
    ['an unknown key', link('x', base64url('{"command":"c","shell":true}')), 'link-entry'],
    ['a wrong type', link('x', base64url('{"command":"c","args":"x"}')), 'link-entry'],
  ];
  for (const [what, text, code] of rows) {
    const reading = readInstallLink(text);

    t.equal(reading.kind === 'refused' ? reading.code : 'link', code, what);
  }
});

t.test('LNK-1 · a config of exactly 32 KB is taken', async (t) => {
  const bare = JSON.stringify({ url: 'https://x.y', headers: { a: '' } });
  const config = JSON.stringify({ url: 'https://x.y', headers: { a: 'x'.repeat(32 * 1024 - bare.length) } });

  t.equal(config.length, 32 * 1024);
  t.equal(readInstallLink(link('x', base64url(config))).kind, 'link');
});

t.test('LNK-1 · whatever the text, the answer is a link or a refusal', async () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const kinds = [readInstallLink(text).kind, readInstallLink(`agent://mcp/install?name=x&config=${text}`).kind];
      return kinds.every((kind) => kind === 'link' || kind === 'refused');
    }),
  );
});

t.test('LNK-1 · a name of dots is refused with words that say so', (t) => {
  for (const name of ['.', '..', '...'])
    t.match(readInstallLink(link(name, base64url(good))), { code: 'link-name', message: /and not only dots$/ }, name);
  t.end();
});

t.test('SEC-2 · no reference comes through, wherever it stands', (t) => {
  const name = fc.stringMatching(/^[A-Za-z][A-Za-z0-9_:]{0,20}$/);
  const key = fc.constantFrom('headers', 'oauth', 'tools', 'sampling');
  fc.assert(
    fc.property(key, name, fc.string(), fc.string(), (part, variable, before, after) => {
      const config = { url: 'https://hub.example/mcp', [part]: { a: [{ b: `${before}\${${variable}}${after}` }] } };
      const reading = readInstallLink(link('x', base64url(JSON.stringify(config))));
      return reading.kind === 'refused' && reading.code === 'link-reference';
    }),
  );
  t.end();
});
