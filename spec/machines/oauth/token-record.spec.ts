import t from 'tap';
import {
  chooseToken,
  formatTokenRecord,
  isFor,
  readTokenRecord,
  recordOf,
  type TokenRecord,
} from '../../../machines/oauth/token-record.ts';
import { fc } from '../../support/property.ts';

const nowMs = 1_700_000_000_000;
const owner = { issuer: 'https://as.example', clientId: 'c' };
const base: TokenRecord = { accessToken: 'at', ...owner };
const renewable: TokenRecord = { ...base, refreshToken: 'rt' };
const living = (lifeMs: number, leftMs: number): Partial<TokenRecord> => ({
  issuedAtMs: nowMs + leftMs - lifeMs,
  expiresAtMs: nowMs + leftMs,
});
const use = { kind: 'use', accessToken: 'at' };

t.test('OAU-1 · a token is used until it is about to end, renewed where it can be, and else a person logs in', (t) => {
  const hour = 3_600_000;
  const rows: readonly (readonly [string, TokenRecord | undefined, object])[] = [
    ['none', undefined, { kind: 'login' }],
    ['no end is told', base, use],
    ['an hour left', { ...renewable, ...living(hour, hour) }, use],
    ['31 s left', { ...renewable, ...living(hour, 31_000) }, use],
    ['30 s left: clocks differ', { ...renewable, ...living(hour, 30_000) }, { kind: 'refresh' }],
    ['over', { ...renewable, ...living(hour, -1) }, { kind: 'refresh' }],
    ['years over: the clock was set', { ...renewable, ...living(hour, -1e12) }, { kind: 'refresh' }],
    ['issued in the future: the clock was set back', { ...renewable, ...living(hour, 1e12) }, use],
    ['a life of 4 s, 2 s left', { ...renewable, ...living(4_000, 2_000) }, use],
    ['a life of 4 s, 1 s left', { ...renewable, ...living(4_000, 1_000) }, { kind: 'refresh' }],
    ['written by an older program', { ...renewable, expiresAtMs: nowMs + 30_000 }, { kind: 'refresh' }],
    ['what cannot be renewed is good until it ends', { ...base, ...living(hour, 1) }, use],
    ['and then it is not', { ...base, ...living(hour, 0) }, { kind: 'login' }],
  ];
  for (const [what, record, verdict] of rows) t.same(chooseToken(record, nowMs), verdict, what);
  t.end();
});

t.test('OAU-2 · expiry is absolute, whatever the spelling of its length', (t) => {
  const answer = (expires_in: never) => recordOf({ access_token: 'at', expires_in }, owner, nowMs);
  for (const [expires, atMs] of [
    [3_600, nowMs + 3_600_000],
    ['60', nowMs + 60_000],
    [0, undefined],
    [-5, undefined],
    ['', undefined],
    ['soon', undefined],
    [null, undefined],
    [undefined, undefined],
    ['Infinity', undefined],
  ] as const) {
    t.equal(answer(expires as never)?.expiresAtMs, atMs, String(expires));
  }
  t.end();
});

t.test('OAU-1 · a renewal keeps what its answer does not replace', (t) => {
  const before: TokenRecord = { ...renewable, scope: 'a', expiresAtMs: 1, issuedAtMs: 0, url: 'https://old.example' };
  t.same(recordOf({ access_token: 'new' }, owner, nowMs, before), {
    ...{ accessToken: 'new', refreshToken: 'rt', scope: 'a' },
    ...owner,
  });
  t.same(recordOf({ access_token: 'new', refresh_token: 'rotated', scope: 'b' }, owner, nowMs, before), {
    ...{ accessToken: 'new', refreshToken: 'rotated', scope: 'b' },
    ...owner,
  });
  for (const answer of [{}, { access_token: '' }, { access_token: 5 }])
    t.equal(recordOf(answer, owner, nowMs), undefined);
  t.end();
});

t.test('OAU-2 · what is written is read back whole, and anything else is no record', (t) => {
  const text = fc.string({ unit: 'binary', minLength: 1 });
  const record = fc.record(
    {
      accessToken: fc.string({ unit: fc.constantFrom(...'aZ09-._~+/=!|'), minLength: 1 }),
      refreshToken: text,
      scope: text,
      expiresAtMs: fc.integer(),
      issuedAtMs: fc.integer(),
      url: text,
      issuer: text,
      clientId: text,
    },
    { requiredKeys: ['accessToken', 'issuer', 'clientId'] },
  );
  fc.assert(
    fc.property(record, (each) => {
      t.same(readTokenRecord(formatTokenRecord(each)), each);
    }),
    { numRuns: 50 },
  );
  for (const damaged of [
    '',
    '{',
    '[]',
    'null',
    '{}',
    '{"access_token":"a"}',
    '{"access_token":1,"issuer":"i","client_id":"c"}',
    '{"access_token":"a","client_id":"c"}',
    '{"access_token":"a","issuer":"i"}',
    '\u0000',
  ])
    t.equal(readTokenRecord(damaged), undefined, damaged);
  t.end();
});

t.test('OAU-9 · OAU-2 · tokens are for the origin that they were issued for', (t) => {
  const record = { ...base, url: 'https://mcp.example/mcp' };
  t.ok(isFor(record, 'https://mcp.example/other'));
  t.ok(isFor(record, 'https://mcp.example:443/mcp'));
  t.notOk(isFor(record, 'https://mcp.example.evil.example/mcp'));
  t.notOk(isFor(record, 'http://mcp.example/mcp'));
  t.notOk(isFor({ ...base, url: 'nonsense' }, 'https://mcp.example/mcp'));
  t.notOk(isFor(record, '${UNSET}'));
  t.ok(isFor(base, 'https://mcp.example/mcp'));
  t.end();
});

t.test('OAU-2 · tokens that were asked for with a resource are for it and what lies under it', (t) => {
  const record = { ...base, url: 'https://mcp.example/team/mcp' };
  const resource = 'https://mcp.example/team';
  for (const [url, may] of [
    ['https://mcp.example/team/mcp', true],
    ['https://mcp.example/team', true],
    ['https://mcp.example/team/', true],
    ['https://mcp.example/team/v2/mcp?x=1', true],
    ['https://mcp.example/teams/mcp', false],
    ['https://mcp.example/team/../other', false],
    ['https://mcp.example/other-tenant', false],
    ['https://other.example/team/mcp', false],
  ] as const)
    t.equal(isFor(record, url, resource), may, url);
  t.ok(isFor(record, 'https://mcp.example/other', 'https://mcp.example/'), 'the whole origin is a resource too');
  t.notOk(isFor(record, 'https://mcp.example/other', 'nonsense'));
  t.ok(isFor(record, record.url, 'https://mcp.example/other'), 'the address that they were issued for');
  t.end();
});

t.test('OAU-1 · OBS-1 · an access token that no header can carry is none', (t) => {
  for (const access_token of ['', 'abc\nhalf', 'a b', 'tök', 'a\u0000', 'a\r\nx: y', 7, null]) {
    t.equal(recordOf({ access_token } as never, owner, nowMs), undefined, JSON.stringify(access_token));
    const stored = JSON.stringify({ access_token, issuer: 'i', client_id: 'c' });
    t.equal(readTokenRecord(stored), undefined, stored);
  }
  t.match(recordOf({ access_token: 'aZ0-._~+/=|!' }, owner, nowMs), { accessToken: 'aZ0-._~+/=|!' });
  t.end();
});
