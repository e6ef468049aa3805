import { createHash } from 'node:crypto';
import t from 'tap';
import { encodingsOf } from '../../../machines/base/secret-encodings.ts';
import { createRedactor } from '../../../runtime/observe/redact.ts';
import { isLinear } from '../../support/linear.ts';
import { fc, runs } from '../../support/property.ts';

const pem = (lines: readonly string[]): string =>
  ['-----BEGIN RSA PRIVATE KEY-----', ...lines, '-----END RSA PRIVATE KEY-----'].join('\n');
const keyLines = ['MIIEowIBAAKCAQEAxyz0123456789abcdefABCDEF+/01234567890123456789a', 'c2hvcnQtbGFzdC1saW5lLW9m='];

/** A text that holds a secret, and what must not be left of it. */
const planted: readonly (readonly [text: string, secret: string])[] = [
  ['ghp_0123456789abcdefghijABCD', '0123456789abcdefghijABCD'],
  ['github_pat_11ABCDEFG0abcdefghijklmnop', '11ABCDEFG0abcdefghijklmnop'],
  ['sk-proj-abcdefghijklmnopqrstuvwx', 'abcdefghijklmnopqrstuvwx'],
  ['xoxb-1234567890-abcdefgh', '1234567890-abcdefgh'],
  ['xapp-1-A0123456789-abcdef', 'A0123456789'],
  ['whsec_MfKQ9r8GKYqrTwjU', 'MfKQ9r8GKYqrTwjU'],
  ['AKIAABCDEFGHIJKLMNOP', 'ABCDEFGHIJKLMNOP'],
  ['glpat-abcdefghijklmnopqrst', 'abcdefghijklmnopqrst'],
  ['eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl', 'c2lnbmF0dXJl'],
  ['Authorization: Bearer abcdefgh12345678', 'abcdefgh12345678'],
  ['authorization: token abcdefgh12345678', 'abcdefgh12345678'],
  ['bearer abcdefgh12345678', 'abcdefgh12345678'],
  ['X-Gitlab-Token: short1', 'short1'],
  ['Cookie: sid=abcdefgh', 'abcdefgh'],
  ['https://user:pa:ss@w@example.org/x', 'pa:ss@w'],
  ['https://ghtokenvalue@example.org/x', 'ghtokenvalue'],
  ['redis://:hunter2@localhost:6379', 'hunter2'],
  ['https://api.telegram.org/bot123456789:AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc/sendMessage', 'AAEhBOweik6ad9r'],
  ['https://h/cgi-bin/webhook/send?key=693axxx6-7aoc', '693axxx6-7aoc'],
  ['https://h/robot/send?access_token=abcdef123&timestamp=1', 'abcdef123'],
  ['GET /cb?code=SplxlOBeZQQYbYS6WxSbIA&state=x', 'SplxlOBeZQQYbYS6WxSbIA'],
  ['mysql --password=hunter2 -u x', 'hunter2'],
  ['DB_PASSWORD="two words"', 'two words'],
  ['{"password": "hunter2\\"more", "ok": 1}', 'hunter2'],
  ['{"accessToken":"abcdef"}', 'abcdef'],
  ['{"client_secret":123456}', '123456'],
  ['body: "{\\"refresh_token\\":\\"abcdef\\"}"', 'abcdef'],
  [pem(keyLines), 'MIIEowIBAAKCAQ'],
  [`-----BEGIN PRIVATE KEY-----\n${keyLines[0]}\nc2hvcnQ`, 'c2hvcnQ'],
  ['the learnt secret value', 'learnt secret'],
  ['q=learnt%20secret%2F%22value', 'secret%2F'],
  ['q=learnt+secret%2F%22value', 'secret%2F'],
  ['q=learnt%20secret%2f%22value', 'value'],
  ['q=learnt+secret%2f%22value', 'value'],
  ['{"error":"no such learnt secret/\\"value"}', 'value'],
  ['{"error":"no such learnt secret\\/\\"value"}', 'value'],
];

function learned(): ReturnType<typeof createRedactor> {
  const redactor = createRedactor();
  redactor.learn('learnt secret');
  redactor.learn('learnt secret/"value');
  return redactor;
}

const around = fc.string({ unit: fc.constantFrom(...' ,"\'()\n{}[]:;\\=é') });

t.test('OBS-1 · a planted secret survives in no text, no JSON and no JSON within JSON', (t) => {
  const redactor = learned();
  for (const [text, secret] of planted) {
    t.notOk(redactor.text(text).includes(secret), text);
    t.notOk(redactor.text(JSON.stringify({ text })).includes(secret), `in JSON: ${text}`);
  }
  fc.assert(
    fc.property(fc.constantFrom(...planted), around, around, ([text, secret], before, after) => {
      const whole = `${before} ${text}\n${after}`;
      return (
        !redactor.text(whole).includes(secret) &&
        !JSON.stringify(redactor.value({ deep: [{ text: whole }] })).includes(secret) &&
        !JSON.stringify(redactor.value(new Map([[text, whole]]))).includes(secret)
      );
    }),
  );
  t.end();
});

t.test('OBS-1 · lines of JSON stay JSON, each of them, whatever is hidden in them', (t) => {
  const redactor = learned();
  const piece = fc.oneof(around, fc.constantFrom(...planted.map(([text]) => text)), fc.string());
  const value = fc.array(piece, { maxLength: 4 }).map((pieces) => pieces.join(''));
  fc.assert(
    fc.property(fc.array(fc.dictionary(fc.string(), value), { minLength: 1, maxLength: 4 }), (objects) => {
      const clean = redactor.text(objects.map((object) => `${JSON.stringify(object)}\n`).join(''));
      const lines = clean.trimEnd().split('\n');
      for (const line of lines) JSON.parse(line);
      return lines.length === objects.length;
    }),
    { numRuns: runs(500) },
  );
  t.end();
});

t.test('OBS-1 · a secret that a length limit cuts through is hidden whole', (t) => {
  const redactor = learned();
  for (let at = 8_160; at < 8_200; at += 1) {
    const shown = String(redactor.value(`${'x'.repeat(at)} ghp_0123456789abcdefghijABCD ${'y'.repeat(100)}`));
    if (shown.includes('ghp_') || shown.length > 8_193) t.fail(`cut at ${at}: ${shown.slice(-40)}`);
  }
  t.end();
});

t.test('OBS-1 · of a secret that a third party’s words were cut in, the beginning is hidden too', (t) => {
  const redactor = createRedactor();
  redactor.learn('learnt secret/"value');
  redactor.learn('https://hooks.example/T0/B0');
  for (const said of ['learnt secr', 'learnt secret', 'learnt secret/\\"val', 'learnt%20secret%2F%2']) {
    t.equal(redactor.text(`HTTP 403: no ${said}…; check headers`), 'HTTP 403: no [redacted]…; check headers');
    t.equal(redactor.text(`it said: no ${said} … the end`), 'it said: no [redacted] … the end');
  }
  for (const plain of [
    'learn…, and learnt a lot…',
    'write https://…',
    'at https://hooks.example.org/…',
    'learnt secret of …',
  ])
    t.equal(redactor.text(plain), plain);
  // Behind the beginning of another, and within a phrase.
  t.equal(
    redactor.text('from=https://hooks.example?to=https://hooks.exam…'),
    'from=https://hooks.example?to=[redacted]…',
  );
  redactor.learn('correct horse battery staple');
  t.equal(redactor.text('no correct horse batt…'), 'no [redacted]…');
  t.end();
});

t.test('OBS-1 · LIF-13 · what a model reads keeps words that are values of .env too', (t) => {
  const redactor = createRedactor();
  t.equal(redactor.known('postgres'), 'postgres');
  for (const value of ['postgres', 'own-key-1', 'abcdefghijklmnop']) redactor.learn(value);
  const said = 'asks postgres with own-key-1 and abcdefghijklmnop';
  t.equal(redactor.known(said), 'asks postgres with [redacted] and [redacted]');
  t.equal(redactor.text(said), 'asks [redacted] with [redacted] and [redacted]');
  redactor.learn('own-key-2');
  t.equal(redactor.known('own-key-2'), '[redacted]');
  t.end();
});

t.test('OBS-1 · the time for a text that was cut grows no faster than the number of secrets', (t) => {
  const said = `${'the quick brown fox jumps over the lazy dog '.repeat(100)}…`;
  const prepared = (count: number) => {
    const redactor = createRedactor();
    for (let number = 0; number < count; number += 1) {
      redactor.learn(createHash('sha256').update(`${number}`).digest('base64'));
    }
    return () => redactor.text(said);
  };
  t.ok(isLinear(prepared, 40));
  t.end();
});

t.test('OBS-1 · a line takes the same time with thousands of secrets as with a few', (t) => {
  const line = JSON.stringify({ level: 'info', message: 'webhook accepted', id: '0b7c8d1e-4f5a' }).repeat(20);
  const prepared = (size: number) => {
    const redactor = createRedactor();
    for (let number = 0; number < size ** 2; number += 1)
      redactor.learn(createHash('sha256').update(`${number}`).digest('base64'));
    redactor.text(line);
    return () => redactor.text(line);
  };
  t.ok(isLinear(prepared, 8), 'sixteen times squared as many');
  t.end();
});

t.test('OBS-1 · at each place the longest of all forms that begin there is masked, the first place first', (t) => {
  const part = (length: object) => fc.string({ unit: fc.constantFrom(...'01/%2F'), ...length });
  fc.assert(
    fc.property(
      fc
        .constantFrom(6, 10, 20)
        .chain((minLength) =>
          fc.uniqueArray(part({ minLength, maxLength: minLength + 3 }), { minLength: 1, maxLength: 12 }),
        ),
      fc.array(fc.oneof(part({ maxLength: 9 }), fc.nat(11)), { maxLength: 12 }),
      (secrets, pieces) => {
        const redactor = createRedactor();
        secrets.forEach(redactor.learn);
        const text = pieces
          .map((piece) => (typeof piece === 'string' ? piece : (secrets[piece % secrets.length] ?? '')))
          .join('');
        const forms = secrets.flatMap(encodingsOf).sort((one, other) => other.length - one.length);
        let masked = '';
        for (let at = 0; at < text.length; ) {
          const form = forms.find((one) => text.startsWith(one, at));
          masked += form === undefined ? text[at] : '[redacted]';
          at += form?.length ?? 1;
        }
        return redactor.known(text) === masked;
      },
    ),
    { numRuns: runs(500) },
  );
  t.end();
});

t.test('OBS-1 · secrets of any length are hidden together', (t) => {
  for (const lengths of [[50_000, 15_000], [33_000, 100, 32_000], Array(12).fill(8_192), [1_000_000, 6, 9_000]]) {
    const redactor = createRedactor();
    const secrets = lengths.map((length: number, at) => `${at}/+=`.repeat(length).slice(0, length));
    for (const secret of secrets) redactor.learn(secret);
    t.equal(redactor.text(secrets.join(' ')), secrets.map(() => '[redacted]').join(' '), `${lengths}`);
  }
  t.end();
});

t.test('OBS-1 · a long secret of few characters is hidden, in time linear in the length of the text', (t) => {
  for (const part of ['z', '/', 'ab', '"', 'zy']) {
    const redactor = createRedactor();
    const secret = part.repeat(65_536 / part.length);
    redactor.learn(secret);
    redactor.learn('another secret');
    for (const text of [secret, JSON.stringify({ token: secret }), encodeURIComponent(secret)])
      t.notOk(redactor.text(`${text} ${text}…`).includes(part.repeat(12)), part);
    t.equal(redactor.known(`a ${secret}${secret} another secret`), 'a [redacted][redacted] [redacted]', part);
  }
  const mixed = (size: number) => {
    const redactor = createRedactor();
    const half = 'z'.repeat(size);
    redactor.learn(`${half}y${half}`);
    return { redactor, half };
  };
  const { redactor, half } = mixed(30_000);
  t.equal(redactor.known(`${half}${half}y${half}y${half}`), `${half}[redacted]y${half}`);
  const masking = (size: number) => {
    const { redactor, half } = mixed(size);
    return () => redactor.known(half.repeat(4));
  };
  t.ok(isLinear(masking, 5_000));
  t.end();
});

t.test('OBS-1 · values under secret-looking names are masked, counts are not', (t) => {
  const masked = ['password', 'api_key', 'apiKey', 'accessToken', 'X-Api-Key', 'clientSecret', 'Set-Cookie', 'tokens'];
  const shown = ['max_tokens', 'monkey', 'tokenizer', 'secretary', 'key', 'route'];
  const redactor = createRedactor();
  for (const name of masked) t.same(redactor.value({ [name]: ['x'] }), { [name]: '[redacted]' });
  for (const name of shown) t.same(redactor.value({ [name]: 100 }), { [name]: 100 });
  t.end();
});

t.test('INS-1 · any value becomes bounded JSON and never throws', (t) => {
  const circle: Record<string, unknown> = {};
  circle.list = Array.from({ length: 200 }, () => circle);
  const redactor = createRedactor();
  t.ok(JSON.stringify(redactor.value(circle)).length < 1_000_000);
  t.same(
    redactor.value({ n: 1n, at: new Date(0), never: new Date(Number.NaN), bytes: Buffer.alloc(3), set: new Set([1]) }),
    { n: '1', at: '1970-01-01T00:00:00.000Z', never: null, bytes: '3 bytes', set: [1] },
  );
  t.same(redactor.value(new Error('token=abcdef broke')), 'token=[redacted] broke');
  const hostile = redactor.value(JSON.parse('{"__proto__":{"polluted":1},"a":1}')) as object;
  t.equal(Object.getPrototypeOf(hostile), Object.prototype);
  t.same(Object.keys(hostile), ['__proto__', 'a']);
  fc.assert(
    fc.property(fc.anything({ withBigInt: true, withMap: true, withSet: true, withTypedArray: true }), (value) => {
      JSON.stringify(redactor.value(value));
    }),
  );
  t.end();
});

t.test('OBS-1 · a web token is hidden whole, however long its parts; a word that begins like one is not', (t) => {
  const redactor = createRedactor();
  const head = `eyJ${'a'.repeat(40)}`;
  const rows: readonly (readonly [text: string, shown: string])[] = [
    [`jwt ${head}.${'b'.repeat(40)}.${'c'.repeat(40)} end`, 'jwt [redacted] end'],
    [`jwt-${head}.${'b'.repeat(40)}`, 'jwt-[redacted]'],
    [`eyJ${'a'.repeat(2_000)}.${'b'.repeat(40)}.`, '[redacted]'],
    [`${'x-eyJ'.repeat(300)}.${'b'.repeat(40)}`, 'x-[redacted]'],
    [`${head} ${head}.${'b'.repeat(8)}`, `${head} [redacted]`],
    [`${head}.short ${head}`, `${head}.short ${head}`],
  ];
  for (const [text, shown] of rows) t.equal(redactor.text(text), shown, text.slice(0, 60));
  t.end();
});

t.test('OBS-1 · what is no secret is shown as it is', (t) => {
  const redactor = createRedactor();
  for (const word of ['short', 'localhost', '127.0.0.1', 'production', '']) redactor.learn(word);
  const plain = [
    'listening on http://127.0.0.1:8644 at localhost in production',
    'route "deploys": coalesce key=deploys sign off, code=3',
    'task-force sk-1 ghp_ eyJ 12:30 a token was missing; the secret is unset',
    'https://example.org/path?x=1#y mail me@example.org',
    '{"delivery_id":"3f2c","attempt":2,"tokens":12}',
    '',
  ];
  for (const text of plain) t.equal(redactor.text(text), text);
  t.end();
});

t.test(
  'OBS-1 · a learnt key of many lines is hidden line by line, and half a character does not stop learning',
  (t) => {
    const redactor = createRedactor();
    redactor.learn(keyLines.join('\n'));
    redactor.learn('half \ud800 a character');
    redactor.learn('regular.*(expression');
    t.equal(redactor.text(`line: ${keyLines[0]}`), 'line: [redacted]');
    t.equal(redactor.text('regular.*(expression half \ud800 a character'), '[redacted] [redacted]');
    t.end();
  },
);

t.test('OBS-1 · a text made to be slow is read in linear time', (t) => {
  const units = [
    'a',
    '1',
    'eyJ-',
    '-eyJ',
    '1234567:',
    '://a',
    '"password":"',
    '\\\\"token\\\\":',
    'token=\\"',
    'x-',
    'bearer ',
  ];
  const redactor = createRedactor();
  // Where the time grew with the square, each of these would take minutes.
  for (const unit of [...units, '-----BEGIN PRIVATE KEY-----', '-----BEGIN PRIVATE KEY-----\nAAAA']) {
    t.type(redactor.text(`${unit.repeat(1_000_000 / unit.length)} token`), 'string');
  }
  t.end();
});

t.test('OBS-1 · DUR-2 · a record is redacted at any depth and not cut', (t) => {
  const redactor = createRedactor();
  redactor.learn('learnt-secret');
  const long = 'x'.repeat(20_000);
  t.same(
    redactor.record({
      reason: 'said learnt-secret',
      prompt: long,
      headers: { 'x-gitlab-token': 'abc', 'content-type': 'a/b' },
      list: [{ authorization: 'x' }, 1, null, true],
      tokens: 12,
    }),
    {
      reason: 'said [redacted]',
      prompt: long,
      headers: { 'x-gitlab-token': '[redacted]', 'content-type': 'a/b' },
      list: [{ authorization: '[redacted]' }, 1, null, true],
      tokens: 12,
    },
  );
  t.end();
});

t.test('OBS-1 · OAU-1 · of a secret that is renewed the last two are known, however often that was', (t) => {
  const redactor = createRedactor();
  redactor.learn('for-ever-secret');
  const token = (turn: number): string => `turn-${turn}-of-many`;
  for (let turn = 0; turn < 100; turn += 1) redactor.learnNext('default/hub/access', token(turn));
  redactor.learnNext('default/other/access', 'of-another-place');
  redactor.learnNext('default/hub/access', token(99));

  const said = `${token(97)} ${token(98)} ${token(99)} of-another-place for-ever-secret`;
  t.equal(redactor.text(said), `${token(97)} [redacted] [redacted] [redacted] [redacted]`);
  redactor.learnNext('short', 'abc');
  t.equal(redactor.text('abc'), 'abc');
  t.end();
});
