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

  await Promise.all([certificates.fetch(`${base}/a`), certificates.fetch(`${base}/a`)]);
  await certificates.fetch(`${base}/a`);
  t.equal(certificates.get(`${base}/a`), pemOf('/a'));
  t.same(asked, ['/a'], 'asked for once');

  for (const path of ['/missing', '/elsewhere', '/big', '/login']) {
    await certificates.fetch(`${base}${path}`);
    t.equal(certificates.get(`${base}${path}`), undefined, path);
  }
  const impatient = createCertificates({ log: log as never, timeoutMs: 1 });
  await impatient.fetch(`${base}/silent`);
  t.equal(impatient.get(`${base}/silent`), undefined, 'it is not waited for');
  t.match(lines[0], /could not be fetched: .*404/);
  t.equal(lines.length, 5);
  t.equal(keys.size, 1, 'the log reports it once for a host, whatever addresses senders name there');

  const areHeld = new Promise<void>((resolve) => {
    allHeld = resolve;
  });
  const waiting = [1, 2, 3, 4].map((number) => certificates.fetch(`${base}/held/${number}`));
  await areHeld;
  await certificates.fetch(`${base}/b`);
  t.equal(certificates.get(`${base}/b`), undefined, 'no more than four at the same time');
  for (const release of held) release();
  await Promise.all(waiting);
  await certificates.fetch(`${base}/b`);
  t.equal(certificates.get(`${base}/b`), pemOf('/b'));

  t.equal(await certificates.visit(`${base}/confirm?Token=secret-token`), undefined);
  t.match(await certificates.visit(`${base}/missing?Token=secret-token`), /^127\.0\.0\.1:\d+: HTTP 404$/);
  t.match(await impatient.visit(`${base}/silent?Token=secret-token`), /^127\.0\.0\.1:\d+: (?!.*secret-token)/);
  const many = await Promise.all(Array.from({ length: 9 }, () => certificates.visit(`${base}/confirm`)));
  t.match(many.filter(Boolean), [/8 confirmations are already under way$/], 'the sender repeats it');
  t.equal(await certificates.visit(`${base}/confirm`), undefined);
});
