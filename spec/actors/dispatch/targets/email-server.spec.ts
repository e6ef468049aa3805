import type { AddressInfo } from 'node:net';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import t, { type Test } from 'tap';
import { createEmail } from '../../../../actors/dispatch/targets/email.ts';
import type { JsonObject } from '../../../../machines/base/json.ts';
import { never, requestOf } from '../../../conformance/target.ts';
import { makeHome } from '../../../support/home.ts';
import { makeCertificates } from '../../../support/tls.ts';

const password = 'sec-smtp-password';

interface Received {
  readonly from: string;
  readonly to: readonly string[];
  readonly text: string;
  readonly secure: boolean;
}

/** A real SMTP server that takes mail of one user and keeps it. */
async function openServer(t: Test, options: SMTPServerOptions = {}) {
  const mails: Received[] = [];
  const server = new SMTPServer({
    logger: false,
    size: 1_000_000,
    onAuth: ({ username, password: given }, _, done) =>
      username === 'ops' && given === password
        ? done(null, { user: 'ops' })
        : done(Object.assign(new Error('PROVIDER-WORDS'), { responseCode: 535 })),
    onRcptTo: ({ address }, _, done) =>
      address === 'full@example.org'
        ? done(Object.assign(new Error('PROVIDER-WORDS'), { responseCode: 452 }))
        : address === 'nobody@example.org'
          ? done(Object.assign(new Error('PROVIDER-WORDS'), { responseCode: 550 }))
          : done(),
    onData: (stream, session, done) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        if (stream.sizeExceeded) return done(Object.assign(new Error('PROVIDER-WORDS'), { responseCode: 552 }));
        const { mailFrom, rcptTo } = session.envelope;
        const from = mailFrom === false ? '' : mailFrom.address;
        const to = rcptTo.map(({ address }) => address);
        mails.push({ from, to, text: Buffer.concat(chunks).toString('utf8'), secure: session.secure });
        done(null, 'queued');
      });
    },
    ...options,
  });
  server.on('error', () => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  t.teardown(() => new Promise<void>((resolve) => server.close(() => resolve())));
  const { port } = server.server.address() as AddressInfo;
  const target = (more: JsonObject = {}) =>
    createEmail(
      {
        enabled: true,
        timeoutMs: 20_000,
        options: { host: '127.0.0.1', port, username: 'ops', password, from: 'Ops <ops@example.org>', ...more },
      },
      { now: () => 0, wait: () => Promise.resolve(), random: () => 1 },
    );
  const send = async (text: string, chat = 'me@example.org', more: JsonObject = {}) => {
    const outcome = await target(more).deliver(requestOf(text, { chat_id: chat }), never);
    t.notMatch(JSON.stringify(outcome), /PROVIDER-WORDS|sec-/);
    return outcome;
  };
  return { mails, target, send };
}

t.test('DLV-1 · a real SMTP server takes a text as one mail, through STARTTLS', async (t) => {
  const { mails, send, target } = await openServer(t);

  t.match(await target().verify(never), { kind: 'verified' });
  t.match(await send('Grüße 👩‍👩‍👧‍👦 é\n\n```\ncode\n```'), { kind: 'delivered', messageId: /^<.+@example\.org>$/ });

  t.match(mails, [{ from: 'ops@example.org', to: ['me@example.org'], secure: true }]);
  t.match(mails[0]?.text, /^Subject: =\?UTF-8\?/m);
});

t.test('DLV-1 · DLV-4 · what a real server refuses has its class', async (t) => {
  const { mails, send, target } = await openServer(t, { authOptional: false });
  t.match(await send('x', 'me@example.org', { password: 'wrong' }), { kind: 'refused', class: 'auth' });
  t.match(await target({ password: 'wrong' }).verify(never), { kind: 'refused', class: 'auth' });
  t.match(await send('x', 'nobody@example.org'), { kind: 'refused', class: 'notFound' });
  t.match(await send('x', 'full@example.org'), { kind: 'transient' });
  t.match(await send('word '.repeat(209_716)), { kind: 'refused', class: 'tooLong' });
  t.same(mails, []);
});

t.test('DLV-1 · TLS from the first byte, and none at all for a relay on this machine', async (t) => {
  const certificates = makeCertificates(makeHome(t).path);
  const tls = { key: certificates.read(certificates.serverKey), cert: certificates.read(certificates.serverCert) };
  const implicit = await openServer(t, { secure: true, ...tls });
  t.match(await implicit.send('secure', 'me@example.org', { secure: true }), { kind: 'delivered' });
  t.match(implicit.mails, [{ secure: true }]);

  const plain = await openServer(t, { disabledCommands: ['STARTTLS', 'AUTH'], authOptional: true });
  t.match(await plain.send('plain', 'me@example.org', { username: '', password: '' }), { kind: 'delivered' });
  t.match(plain.mails, [{ secure: false }]);
});
