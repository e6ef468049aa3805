import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { fileDocuments } from '../../../actors/documents.ts';
import { createCredentials, type NewCredentials } from '../../../actors/oauth/credentials.store.ts';
import { createSharedDocuments } from '../../../actors/shared-documents.ts';
import type { TokenRecord } from '../../../machines/oauth/token-record.ts';
import { memoryRows } from '../../support/document-rows.ts';
import { tokenStore } from '../../support/oauth/token-store.ts';

const issuer = 'https://as.example';
const tokens: TokenRecord = {
  ...{ accessToken: 'at', refreshToken: 'rt', issuer, clientId: 'c', url: 'https://mcp.example/mcp' },
  ...{ expiresAtMs: 2_000, issuedAtMs: 1_000, scope: 'a' },
};
const whole: NewCredentials = {
  tokens,
  server: { issuer, authorizationServerUrl: `${issuer}/`, metadata: { issuer }, resource: 'https://mcp.example/mcp' },
  client: {
    issuer,
    clientId: 'c',
    clientSecret: 's',
    secretExpiresAtMs: 5_000,
    authMethod: 'client_secret_post',
    redirectUri: 'http://127.0.0.1:1/callback',
  },
};

t.test(
  'OAU-2 · tokens, registration and metadata lie beside each other, private, and are read back whole',
  async (t) => {
    const { folder, credentials } = tokenStore(t);
    const place = join(folder, 'mcp-tokens');
    const store = createCredentials(place, fileDocuments);
    t.equal(store.tokens('hub'), undefined);
    t.equal(store.problem('hub'), undefined, 'what was never there is no problem');

    await store.save('hub', whole);

    t.same(store.tokens('hub'), tokens);
    t.same(store.client('hub'), whole.client);
    t.same(store.server('hub'), whole.server);
    t.equal(store.problem('hub'), undefined);
    t.same(readdirSync(place).sort(), ['hub.client', 'hub.json', 'hub.meta']);
    for (const name of readdirSync(place)) t.equal(statSync(join(place, name)).mode & 0o777, 0o600, name);
    t.equal(statSync(place).mode & 0o777, 0o700);
    t.match(JSON.parse(readFileSync(join(place, 'hub.json'), 'utf8')), { expires_at_ms: 2_000 }, 'absolute expiry');
    t.equal(credentials.tokens('other'), undefined);
  },
);

t.test('OAU-2 · no name leaves the folder, and two names never share a file', async (t) => {
  const outside = tokenStore(t).folder;
  const folder = join(outside, 'mcp-tokens');
  const credentials = createCredentials(folder, fileDocuments);
  const names = [
    '../hub',
    '..',
    '.',
    'a/b',
    'a%2Fb',
    'A',
    'a',
    'ж',
    '.hidden',
    'nul\u0000',
    'x'.repeat(300),
    `${'x'.repeat(299)}y`,
    ' ',
  ];
  for (const [index, name] of names.entries()) {
    await credentials.saveTokens(name, { ...tokens, accessToken: `at-${index}` });
  }
  for (const [index, name] of names.entries()) t.equal(credentials.tokens(name)?.accessToken, `at-${index}`, name);
  t.equal(readdirSync(folder).length, names.length);
  t.same(readdirSync(outside), ['mcp-tokens']);
});

t.test('OAU-8 · where one file is not taken, none is replaced', async (t) => {
  const { folder, credentials } = tokenStore(t);
  await credentials.save('hub', whole);
  const names = ['hub.client', 'hub.meta'];
  const before = names.map((name) => readFileSync(join(folder, name), 'utf8'));
  const file = join(folder, 'hub.json');
  rmSync(file);
  symlinkSync(file, file);

  const other = 'https://new.example';
  const replacing = credentials.save('hub', {
    tokens: { ...tokens, issuer: other },
    server: { ...whole.server, issuer: other },
    client: { issuer: other, clientId: 'new' },
  });

  await t.rejects(replacing, { code: 'ELOOP' });
  t.same(
    names.map((name) => readFileSync(join(folder, name), 'utf8')),
    before,
  );
  t.same(readdirSync(folder).sort(), ['hub.client', 'hub.json', 'hub.meta'], 'and nothing is left behind');
});

t.test('OAU-8 · a login that is killed between its files leaves the credentials before it', async (t) => {
  const other = 'https://new.example';
  const next: NewCredentials = {
    tokens: { ...tokens, issuer: other, clientId: 'new', accessToken: 'new' },
    server: { ...whole.server, issuer: other },
    client: { issuer: other, clientId: 'new', clientSecret: 'new' },
  };
  for (const written of [1, 2, 3]) {
    const { folder, credentials } = tokenStore(t);
    const killed = createCredentials(folder, {
      ...fileDocuments,
      write: (changes) => fileDocuments.write(changes.slice(0, written)),
    });
    const all = () => [credentials.tokens('hub'), credentials.client('hub'), credentials.server('hub')];
    await credentials.save('hub', whole);
    for (const _ of ['once', 'twice']) {
      await killed.save('hub', next);
      t.same(all(), [tokens, whole.client, whole.server], String(written));
      t.equal(credentials.problem('hub'), undefined);
    }
    await credentials.save('hub', next);
    t.same(all(), [next.tokens, next.client, next.server]);
  }
});

t.test('OAU-2 · what cannot be read is not there, says why, and is not written over by reading', async (t) => {
  const { folder, credentials } = tokenStore(t);
  const file = join(folder, 'hub.json');
  const rows: readonly (readonly [string, () => void, RegExp])[] = [
    ['damaged', () => writeFileSync(file, '{"access_token":'), /hub\.json is damaged/],
    ['no record', () => writeFileSync(file, '[]'), /hub\.json is damaged/],
    [
      'a folder',
      () => {
        rmSync(file);
        mkdirSync(file);
      },
      /hub\.json cannot be read \(EISDIR\)/,
    ],
    ['no metadata', () => rmSync(join(folder, 'hub.meta')), /hub\.meta is missing or damaged/],
    ['damaged metadata', () => writeFileSync(join(folder, 'hub.meta'), 'x'), /hub\.meta is missing or damaged/],
    [
      'of another issuer',
      () => writeFileSync(file, JSON.stringify({ access_token: 'a', client_id: 'c', issuer: 'https://other.example' })),
      /of another authorization server \(https:\/\/other\.example\) than the one it uses \(https:\/\/as\.example\)/,
    ],
  ];
  for (const [what, arrange, problem] of rows) {
    rmSync(file, { recursive: true, force: true });
    await credentials.save('hub', whole);
    arrange();
    const seen = readdirSync(folder).sort();
    t.match(credentials.problem('hub'), problem, what);
    if (/hub\.json/.test(String(problem))) t.equal(credentials.tokens('hub'), undefined, what);
    t.same(readdirSync(folder).sort(), seen, what);
  }
  writeFileSync(join(folder, 'hub.client'), '{"client_id":5}');
  t.equal(credentials.client('hub'), undefined);
});

t.test('OAU-2 · a file that others can read is made private, and that is reported once', async (t) => {
  const { folder, credentials, logged } = tokenStore(t);
  await credentials.save('hub', whole);
  for (const name of ['hub.json', 'hub.client']) chmodSync(join(folder, name), 0o664);

  t.same(credentials.tokens('hub'), tokens);
  t.same(credentials.client('hub'), whole.client);
  t.equal(statSync(join(folder, 'hub.json')).mode & 0o777, 0o600);
  t.equal(statSync(join(folder, 'hub.client')).mode & 0o777, 0o600);
  t.equal(logged.length, 2);
  t.match(logged[0], /^warn: .*hub\.json: others could read it \(mode 0664\); it is private now$/);
});

t.test('OAU-1 · a renewal that the disk does not take counts until somebody writes newer tokens', async (t) => {
  const { folder, credentials } = tokenStore(t);
  await credentials.save('hub', whole);
  const file = join(folder, 'hub.json');
  rmSync(file);
  mkdirSync(file);

  await t.rejects(credentials.saveTokens('hub', { ...tokens, accessToken: 'renewed' }));

  t.equal(credentials.tokens('hub')?.accessToken, 'renewed', 'its predecessor is spent');
  rmSync(file, { recursive: true });
  await createCredentials(folder, fileDocuments).saveTokens('hub', { ...tokens, accessToken: 'newer' });
  t.equal(credentials.tokens('hub')?.accessToken, 'newer');
});

t.test('OAU-1 · a renewal that cannot be written yet keeps no other from being written', async (t) => {
  const home = tokenStore(t).folder;
  const rows = memoryRows();
  let refused = /json$/;
  const connect = async () => {
    const store = await rows.connect();
    const replace: typeof store.replace = async (changes) => {
      if (changes.some(({ name }) => refused.test(name))) throw new Error('refused');
      return store.replace(changes);
    };
    return { ...store, replace };
  };
  const log = { log: () => {}, warnOnce: () => {} };
  const documents = createSharedDocuments({ home, place: 'postgres://host/db', connect, log });
  await documents.open();
  const credentials = createCredentials(join(home, 'mcp-tokens'), documents, log);
  for (const server of ['a', 'b']) await t.rejects(credentials.saveTokens(server, tokens));
  refused = /a[.]json$/;
  await t.rejects(credentials.storeUnwritten(), /refused/);
  t.ok(documents.at(join(home, 'mcp-tokens/b.json')).text());
});

t.test('OAU-1 · tokens that wait to be written are never written over those that were renewed meanwhile', async (t) => {
  const rows = memoryRows();
  const home = tokenStore(t).folder;
  const log = { log: () => {}, warnOnce: () => {} };
  const documents = createSharedDocuments({ home, place: 'postgres://host/db', connect: () => rows.connect(), log });
  await documents.open();
  const credentials = createCredentials(join(home, 'mcp-tokens'), documents, log);
  const saving = (accessToken: string) => credentials.saveTokens('hub', { ...tokens, accessToken });
  rows.isAway = true;
  await t.rejects(saving('first'));
  rows.isAway = false;
  let storing: Promise<void> | undefined;
  await credentials.locked('hub', async () => {
    storing = credentials.storeUnwritten();
    // It has found the lock taken.
    for (let turns = 0; turns < 20; turns += 1) await Promise.resolve();
    rows.isAway = true;
    await t.rejects(saving('second'), 'this renewal spends the first');
    rows.isAway = false;
  });
  await storing;
  await documents.refresh();
  t.equal(credentials.tokens('hub')?.accessToken, 'second');
  t.match(documents.at(join(home, 'mcp-tokens/hub.json')).text(), /second/);
});

t.test('OAU-4 · a refusal of the document is recorded beside the tokens, and forgotten', async (t) => {
  const { folder, credentials } = tokenStore(t);
  t.notOk(credentials.documentRefused('hub'));
  await credentials.refuseDocument('hub', 'because');
  t.ok(createCredentials(folder, fileDocuments).documentRefused('hub'), 'also for the next process');
  t.equal(readFileSync(join(folder, 'hub.cimd-off'), 'utf8'), 'because\n');
  await credentials.clearRefusal('hub');
  await credentials.clearRefusal('hub');
  t.notOk(credentials.documentRefused('hub'));
});

t.test('OAU-8 · a logout leaves nothing of the server, and says whether there was a login', async (t) => {
  const { folder, credentials } = tokenStore(t);
  await credentials.save('hub', whole);
  await credentials.save('hub-2', whole);
  await credentials.refuseDocument('hub', 'because');
  await credentials.demandScope('hub', 'https://mcp.example/mcp', 'mcp:write');
  credentials.noteRefusal('hub', 'spent');

  t.equal(await credentials.forget('hub'), true);

  t.same(
    readdirSync(folder).filter((name) => name.startsWith('hub.')),
    [],
  );
  t.same([credentials.tokens('hub'), credentials.client('hub'), credentials.problem('hub')], Array(3).fill(undefined));
  t.ok(credentials.tokens('hub-2'));
  t.equal(await credentials.forget('hub'), false);
});

t.test('OAU-8 · OAU-1 · a refused renewal and a demanded scope are known until the next login', async (t) => {
  const { folder, credentials } = tokenStore(t);
  const url = 'https://mcp.example/mcp';
  await credentials.save('hub', whole);
  credentials.noteRefusal('hub', 'spent');
  await credentials.demandScope('hub', url, 'mcp:write');
  await credentials.demandScope('hub', url, 'mcp:read mcp:write');
  t.equal(credentials.problem('hub'), 'spent');
  const next = createCredentials(folder, fileDocuments);
  t.equal(next.demandedScope('hub', url), 'mcp:write mcp:read', 'also for the next process');
  t.equal(next.demandedScope('hub', 'https://other.example/mcp'), undefined, 'not for another server of that name');

  await credentials.save('hub', whole);

  t.equal(credentials.problem('hub'), undefined);
  t.equal(next.demandedScope('hub', url), undefined);
  await credentials.demandScope('hub', url, 'mcp:admin');
  await credentials.demandScope('hub', url, null);
  t.equal(credentials.demandedScope('hub', url), '', 'a scope that is not granted is forgotten');
  t.equal(next.demandedScope('hub', url), '');
  await credentials.demandScope('hub', url, ' ');
  t.equal(next.demandedScope('hub', url), '');
  await credentials.demandScope('hub', url, 'mcp:read');
  t.equal(next.demandedScope('hub', url), 'mcp:read');

  for (let at = 0; at < 20; at += 1) await credentials.demandScope('hub', url, `${at}`.padEnd(1_000, 'x'));
  t.ok((next.demandedScope('hub', url) ?? '').length < 5_000, 'whatever a server demands');
});

t.test('OAU-1 · scopes that two processes demand at once are merged under the lock', async (t) => {
  const { folder, credentials } = tokenStore(t);
  const url = 'https://mcp.example/mcp';
  const other = createCredentials(folder, fileDocuments);
  let demands: Promise<unknown> = Promise.resolve();
  await credentials.locked('hub', async () => {
    demands = Promise.all([credentials.demandScope('hub', url, 'a'), other.demandScope('hub', url, 'b')]);
    t.equal(credentials.demandedScope('hub', url), 'a', 'a login that begins meanwhile requests it');
  });
  await demands;
  for (const one of [credentials, other])
    t.same(new Set(one.demandedScope('hub', url)?.split(' ')), new Set(['a', 'b']));
});

t.test('OAU-1 · one holder of the lock of a server at a time; another server is free', async (t) => {
  const { folder, credentials } = tokenStore(t);
  const order: string[] = [];
  let release = (): void => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  let first: Promise<void> | undefined;
  // The second asks once the first has the lock: of two that ask at once either may be the first.
  await new Promise<void>((entered) => {
    first = credentials.locked('hub', async () => {
      order.push('first');
      entered();
      await held;
    });
  });
  const second = createCredentials(folder, fileDocuments).locked('hub', () => Promise.resolve(order.push('second')));
  await credentials.locked('other', () => Promise.resolve(order.push('other')));
  t.same(order, ['first', 'other']);
  release();
  await Promise.all([first, second]);
  t.same(order, ['first', 'other', 'second']);
  t.same(readdirSync(folder), []);
});

const child = new URL('../../support/oauth/read-only-child.js', import.meta.url).pathname;
const canMount = spawnSync('unshare', ['-m', 'true']).status === 0;

t.test(
  'OAU-2 · OAU-8 · on a read-only disk tokens are read and used, and nothing is spent that could not be kept',
  { skip: canMount ? false : 'needs `unshare -m`: run as root on Linux' },
  async (t) => {
    const { folder, credentials } = tokenStore(t);
    await credentials.save('hub', whole);
    chmodSync(join(folder, 'hub.json'), 0o644);
    const mount =
      'mount --bind "$FOLDER" "$FOLDER"; mount -o remount,bind,ro "$FOLDER"; exec "$NODE" "$CHILD" "$FOLDER"';
    const { stdout, stderr } = spawnSync('unshare', ['-m', 'bash', '-ec', mount], {
      encoding: 'utf8',
      env: { ...process.env, NODE_OPTIONS: '', FOLDER: folder, NODE: process.execPath, CHILD: child },
    });

    t.match(stdout, /^\{/, stderr);
    const seen = JSON.parse(stdout) as Record<string, unknown>;
    t.equal(seen.accessToken, 'at');
    t.equal(seen.problem, null);
    t.match(seen.logged, [/others could read it \(mode 0644\) and it cannot be made private/]);
    t.match(seen.renewal, /cannot be renewed now: the folder of its tokens: .*EROFS/);
    t.equal(seen.tokenRequests, 0);
    t.match(seen.save, /EROFS/);
  },
);

t.test('OAU-2 · whether credentials could be written is tried without leaving anything behind', async (t) => {
  const { credentials, folder: place } = tokenStore(t);
  await credentials.tryWriting('hub');
  t.same(readdirSync(place), []);
  await t.rejects(createCredentials('/dev/null/tokens', fileDocuments).tryWriting('hub'), /ENOTDIR|EEXIST/);
});

t.test('OAU-1 · OAU-2 · OAU-8 · gateways that share documents have the same credentials', async (t) => {
  const rows = memoryRows();
  const gateway = () => {
    const home = tokenStore(t).folder;
    const log = { log: () => {}, warnOnce: () => {} };
    const documents = createSharedDocuments({ home, place: 'postgres://host/db', connect: rows.connect, log });
    return { home, documents, credentials: createCredentials(join(home, 'mcp-tokens'), documents, log) };
  };
  const [one, other] = [gateway(), gateway()];
  t.equal(one.credentials.tokens('hub'), undefined);
  t.equal(
    one.credentials.problem('hub'),
    'its token file mcp-tokens/hub.json in postgres://host/db cannot be read (the database has not answered yet)',
  );
  await one.credentials.save('hub', whole);
  await other.documents.refresh();
  t.same(
    [other.credentials.tokens('hub'), other.credentials.client('hub'), other.credentials.server('hub')],
    [tokens, whole.client, whole.server],
  );
  t.same(
    [one, other].map(({ credentials }) => credentials.problem('hub')),
    [undefined, undefined],
  );
  await other.credentials.refuseDocument('hub', 'because');
  await one.documents.refresh();
  t.ok(one.credentials.documentRefused('hub'));
  await one.credentials.clearRefusal('hub');
  t.notOk(one.credentials.documentRefused('hub'));
  await one.credentials.tryWriting('hub');
  t.same(readdirSync(one.home), [], 'nothing is in the home');

  t.equal(one.credentials.writeCure('hub'), 'see that the database answers');
  rows.isAway = true;
  await t.rejects(one.credentials.tryWriting('hub'));
  await t.rejects(one.credentials.saveTokens('hub', { ...tokens, accessToken: 'renewed' }));
  t.equal(one.credentials.tokens('hub')?.accessToken, 'renewed', 'its predecessor is spent');
  await t.rejects(one.credentials.storeUnwritten());
  rows.isAway = false;
  await one.credentials.storeUnwritten();
  await other.documents.refresh();
  t.equal(other.credentials.tokens('hub')?.accessToken, 'renewed', 'written once the database answers again');
  rows.isAway = true;
  await t.rejects(one.credentials.saveTokens('hub', { ...tokens, accessToken: 'late' }));
  rows.isAway = false;
  await other.credentials.saveTokens('hub', { ...tokens, accessToken: 'newer' });
  await one.documents.refresh();
  await one.credentials.storeUnwritten();
  t.equal(one.credentials.tokens('hub')?.accessToken, 'newer', 'newer ones are not written over');
  const held = await one.credentials.locked('hub', async () => {
    await other.credentials.saveTokens('hub', { ...tokens, accessToken: 'newest' });
    return one.credentials.locked('other', async () => one.credentials.tokens('hub')?.accessToken);
  });
  t.equal(held, 'newest', 'who has the lock has read what was written before');
});
