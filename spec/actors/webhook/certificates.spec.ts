import { generateKeyPairSync } from 'node:crypto';
import t from 'tap';
import { createCertificates } from '../../../actors/webhook/certificates.ts';
import { listenHttp } from '../../support/http-listener.ts';

const pemOf = (path: string): string => `-----BEGIN CERTIFICATE-----\n${path}`;

t.test('SRC-1 · a certificate is fetched once, kept, and waited for no longer than its time', async (t) => {
  const asked: string[] = [];
  const held: (() => void)[] = [];
  let allHeld = (): void => {};
  const { url: base } = await listenHttp(t, (request, response) => {
    const path = request.url ?? '';
    asked.push(path);
    if (path.startsWith('/silent')) return;
    if (path.startsWith('/held')) {
      held.push(() => response.end(pemOf('held')));
      if (held.length === 4) allHeld();
      return;
    }
    if (path === '/elsewhere') response.writeHead(302, { location: '/a' }).end();
    else if (path.startsWith('/missing')) response.writeHead(404).end();
    else response.end(path === '/big' ? 'x'.repeat(70_000) : path === '/login' ? '<html>' : pemOf(path));
  });
  const lines: string[] = [];
  const keys = new Set<string>();
  const log = {
    log: (level: string, message: string) => void lines.push(`${level} ${message}`),
    warnOnce: (key: string, message: string) => {
      keys.add(key);
      lines.push(`warn ${message}`);
    },
  };
  const certificates = createCertificates({ log: log as never, timeoutMs: 60_000 });

  await Promise.all([certificates.fetch({ url: `${base}/a` }), certificates.fetch({ url: `${base}/a` })]);
  await certificates.fetch({ url: `${base}/a` });
  t.equal(certificates.get(`${base}/a`), pemOf('/a'));
  t.same(asked, ['/a'], 'asked for once');

  for (const path of ['/missing', '/elsewhere', '/big', '/login']) {
    await certificates.fetch({ url: `${base}${path}` });
    t.equal(certificates.get(`${base}${path}`), undefined, path);
  }
  const impatient = createCertificates({ log: log as never, timeoutMs: 1 });
  await impatient.fetch({ url: `${base}/silent` });
  t.equal(impatient.get(`${base}/silent`), undefined, 'it is not waited for');
  t.match(lines[0], /could not be fetched: .*404/);
  t.equal(lines.length, 5);
  t.equal(keys.size, 1, 'the log reports it once for a host, whatever addresses senders name there');

  const areHeld = new Promise<void>((resolve) => {
    allHeld = resolve;
  });
  const waiting = [1, 2, 3, 4].map((number) => certificates.fetch({ url: `${base}/held/${number}` }));
  await areHeld;
  await certificates.fetch({ url: `${base}/b` });
  t.equal(certificates.get(`${base}/b`), undefined, 'no more than four at the same time');
  for (const release of held) release();
  await Promise.all(waiting);
  await certificates.fetch({ url: `${base}/b` });
  t.equal(certificates.get(`${base}/b`), pemOf('/b'));

  t.equal(await certificates.visit(`${base}/confirm?Token=secret-token`), undefined);
  t.match(await certificates.visit(`${base}/missing?Token=secret-token`), /^127\.0\.0\.1:\d+: HTTP 404$/);
  t.match(await impatient.visit(`${base}/silent?Token=secret-token`), /^127\.0\.0\.1:\d+: (?!.*secret-token)/);
  const many = await Promise.all(Array.from({ length: 9 }, () => certificates.visit(`${base}/confirm`)));
  t.match(many.filter(Boolean), [/8 confirmations are already under way$/], 'the sender repeats it');
  t.equal(await certificates.visit(`${base}/confirm`), undefined);
});

t.test(
  'SRC-1 · SEC-3 · keys are renewed after an hour and for a new one, at a pace, and kept while that fails',
  async (t) => {
    const jwk = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({ format: 'jwk' });
    const setOf = (...kids: readonly string[]): string =>
      JSON.stringify({ keys: kids.map((kid) => ({ ...jwk, kid })) });
    let asked = 0;
    let answer: string | number = setOf('a');
    const { url } = await listenHttp(t, (_, response) => {
      asked += 1;
      if (typeof answer === 'string') response.end(answer);
      else response.writeHead(answer, { location: '/other' }).end();
    });
    let atMs = 5_000;
    const log = { log() {}, warnOnce() {} };
    const certificates = createCertificates({ log: log as never, timeoutMs: 60_000, nowMs: () => atMs });
    const ask = async (hasKey: boolean, laterMs = 0): Promise<number> => {
      atMs += laterMs;
      await certificates.fetch({ url, hasKey });
      return asked;
    };

    answer = 500;
    t.equal(await ask(false), 1);
    t.equal(certificates.get(url), undefined);
    answer = setOf('a');
    t.equal(await ask(false, 9_999), 1, 'not at once again');
    t.equal(await ask(false, 1), 2);
    t.equal(certificates.get(url), setOf('a'));

    await Promise.all(Array.from({ length: 1_000 }, () => ask(false)));
    t.equal(asked, 2, 'a thousand tokens with keys that do not exist');
    answer = setOf('a', 'b');
    await Promise.all(Array.from({ length: 1_000 }, (_, index) => ask(false, index === 0 ? 10_000 : 0)));
    t.equal(asked, 3);
    t.equal(certificates.get(url), setOf('a', 'b'));

    t.equal(await ask(true, 3_599_999), 3);
    for (const failure of [500, 302, '<html>', '{"keys":[]}', setOf('c').padEnd(70_000)]) {
      answer = failure;
      const before = asked;
      t.equal(await ask(true, 3_600_000), before + 1);
      t.equal(certificates.get(url), setOf('a', 'b'), `kept: ${String(failure).slice(0, 12)}`);
    }
    answer = setOf('b');
    await ask(true, 3_600_000);
    t.equal(certificates.get(url), setOf('b'), 'a key that its issuer has withdrawn is not kept');
  },
);
