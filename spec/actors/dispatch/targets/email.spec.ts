import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { createTransport } from 'nodemailer';
import t, { type Test } from 'tap';
import {
  createEmail,
  type MailTransportFactory,
  type MailTransportOptions,
  readMailError,
} from '../../../../actors/dispatch/targets/email.ts';
import type { TargetPorts } from '../../../../actors/dispatch/targets/platform-target.ts';
import type { JsonObject } from '../../../../machines/base/json.ts';
import type { SendOutcome } from '../../../../machines/dispatch/send-outcome.ts';
import { never, nowMs, requestOf } from '../../../conformance/target.ts';
import { makeHome } from '../../../support/home.ts';
import { listenOn } from '../../../support/http-listener.ts';
import {
  type SmtpScript,
  smtpPassword,
  smtpRecipient,
  smtpUser,
  startSmtp,
} from '../../../support/platforms/smtp-server.ts';
import { makeCertificates } from '../../../support/tls.ts';

const ports: TargetPorts = { now: () => nowMs, wait: () => Promise.resolve(), random: () => 1 };
const auth = { kind: 'refused', class: 'auth' };
const notFound = { kind: 'refused', class: 'notFound' };
const permanent = { kind: 'refused', class: 'permanent' };
const transient = { kind: 'transient' };
const unknown = { kind: 'unknown' };

function settingsFor(port: number, options: JsonObject = {}, timeoutMs = 20_000) {
  const account = { username: smtpUser, password: smtpPassword, from: `Ops <${smtpUser}>`, require_tls: false };
  return { enabled: true, timeoutMs, options: { host: '127.0.0.1', port, ...account, ...options } };
}

async function openMail(t: Test, extensions: readonly string[] = []) {
  const server = await startSmtp(t, extensions);
  const deliver = async (
    text: string,
    { extra = {}, options = {}, timeoutMs = 20_000, signal = never, factory }: DeliverOptions = {},
  ): Promise<SendOutcome> => {
    const mailPorts = { ...ports, ...(factory === undefined ? {} : { createMailTransport: factory }) };
    const target = createEmail(settingsFor(server.port, options, timeoutMs), mailPorts);
    const outcome = await target.deliver(requestOf(text, { chat_id: smtpRecipient, ...extra }), signal);
    t.notMatch(JSON.stringify(outcome), /PROVIDER-WORDS|sec-/);
    return outcome;
  };
  return { server, deliver };
}

interface DeliverOptions {
  readonly extra?: JsonObject;
  readonly options?: JsonObject;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  readonly factory?: MailTransportFactory;
}

/** The real transport over a socket that the spec holds too. */
function ownSocket(port: number): { readonly socket: Socket; readonly factory: MailTransportFactory } {
  const socket = connect(port, '127.0.0.1');
  const connected = once(socket, 'connect');
  const getSocket = (_: unknown, give: (error: null, found: object) => void): void =>
    void connected.then(() => give(null, { connection: socket }));
  return {
    socket,
    factory: (options) => createTransport({ ...options, getSocket } as MailTransportOptions),
  };
}

t.test('DLV-1 · a text arrives as one mail, with a subject, a sender and an id of its own', async (t) => {
  const { server, deliver } = await openMail(t);

  const outcome = await deliver('## Build 7 is green\n\nAll of it.', { extra: { in_reply_to: 'abc@example.org' } });

  t.match(outcome, { kind: 'delivered', messageId: /^<[\w-]{32}@example\.org>$/ });
  const [mail = ''] = server.mails;
  t.match(mail, /^From: Ops <bot@example\.org>$/m);
  t.match(mail, /^To: me@example\.org$/m);
  t.match(mail, /^Subject: Build 7 is green$/m);
  t.match(mail, /^In-Reply-To: <abc@example\.org>$/m);
  t.match(mail, /^Auto-Submitted: auto-generated$/m, 'RFC 3834: no holiday reply answers it');
  t.match(mail, 'All of it.');
  t.ok(outcome.kind === 'delivered' && mail.includes(`Message-ID: ${outcome.messageId}`));
});

t.test('DLV-4 · a mail of a megabyte goes in one piece', async (t) => {
  const { server, deliver } = await openMail(t);

  t.match(await deliver('word '.repeat(209_716)), { kind: 'delivered' });
  t.equal(server.mails.length, 1);
  t.ok((server.mails[0]?.length ?? 0) > 1_048_000);
  t.match(await deliver('x'.repeat(5_000_001)), { kind: 'refused', class: 'tooLong' });
});

t.test('DLV-4 · characters of every kind and code blocks arrive in a mail as they are', async (t) => {
  const { server, deliver } = await openMail(t);
  const text = '👩‍👩‍👧‍👦 e\u0301 🇩🇪 漢字\n\n```sh\nrun --all 👍\n```\n'.repeat(400);

  t.match(await deliver(text), { kind: 'delivered' });

  const [head = '', ...body] = (server.mails[0] ?? '').split(/\r?\n\r?\n/);
  t.match(head, /Content-Transfer-Encoding: base64/i);
  const arrived = Buffer.from(body.join(''), 'base64').toString('utf8').replaceAll('\r\n', '\n');
  t.equal(arrived.trimEnd(), text.trimEnd());
});

const scripts: readonly (readonly [string, SmtpScript, object])[] = [
  ['the server is busy', { step: 'greeting', reply: '421 4.3.2 PROVIDER-WORDS' }, transient],
  ['the server wants nobody', { step: 'greeting', reply: '554 5.7.1 PROVIDER-WORDS' }, permanent],
  [
    'encryption is not available now (RFC 3207 §4)',
    { step: 'STARTTLS', reply: '454 4.7.0 PROVIDER-WORDS' },
    { ...transient, reason: /offers no encryption now \(SMTP 454 at STARTTLS\).*if that lasts/ },
  ],
  [
    'encryption is not offered',
    { step: 'STARTTLS', reply: '502 5.5.1 PROVIDER-WORDS' },
    { ...permanent, reason: /offers no encryption \(SMTP 502 at STARTTLS\).*check port and secure/ },
  ],
  ['the account needs another login', { step: 'AUTH', reply: '432 4.7.12 PROVIDER-WORDS' }, auth],
  ['the login is refused', { step: 'AUTH', reply: '535 5.7.8 PROVIDER-WORDS' }, auth],
  [
    'the login cannot be checked now',
    { step: 'AUTH', reply: '454 4.7.0 PROVIDER-WORDS' },
    { ...transient, reason: /cannot check the login now/ },
  ],
  ['the sender is refused', { step: 'MAIL', reply: '550 5.7.1 PROVIDER-WORDS' }, permanent],
  ['too big', { step: 'MAIL', reply: '552 5.3.4 PROVIDER-WORDS' }, { kind: 'refused', class: 'tooLong' }],
  ['no such recipient', { step: 'RCPT', reply: '550 5.1.1 PROVIDER-WORDS' }, notFound],
  ['the mailbox is full', { step: 'RCPT', reply: '452 4.2.2 PROVIDER-WORDS' }, transient],
  [
    'the mailbox is over its quota',
    { step: 'RCPT', reply: '552 5.2.2 PROVIDER-WORDS' },
    { ...transient, reason: /mailbox is full \(SMTP 552 at RCPT TO\)/ },
  ],
  ['greylisted', { step: 'RCPT', reply: '450 4.7.1 PROVIDER-WORDS' }, transient],
  ['relaying is denied', { step: 'RCPT', reply: '554 5.7.1 PROVIDER-WORDS' }, permanent],
  ['the text is refused', { step: 'text', reply: '554 5.6.0 PROVIDER-WORDS' }, permanent],
  ['the text is to come again', { step: 'text', reply: '451 4.3.0 PROVIDER-WORDS' }, transient],
  ['a reset before the greeting', { step: 'greeting', reply: 'reset' }, transient],
  ['a reset before the text', { step: 'DATA', reply: 'reset' }, transient],
  ['the text is not wanted', { step: 'DATA', reply: '554 5.5.1 PROVIDER-WORDS' }, permanent],
  ['a reset at the recipient', { step: 'RCPT', reply: 'reset' }, transient],
  ['a reset after the text', { step: 'text', reply: 'reset' }, unknown],
];
for (const [title, script, expected] of scripts) {
  t.test(`DLV-4 · the server’s reply: ${title}`, async (t) => {
    const { server, deliver } = await openMail(t);
    server.script = script;

    const outcome = await deliver('hello');

    t.match(outcome, expected, JSON.stringify(outcome));
  });
}

t.test('DUR-1 · silence is an unknown outcome after the text, and none before', async (t) => {
  const { server, deliver } = await openMail(t);
  server.script = { step: 'greeting', reply: 'silence' };
  t.match(await deliver('hello', { timeoutMs: 100 }), transient);

  server.script = { step: 'text', reply: 'silence' };
  const arrived = server.arrival('text');
  const { socket, factory } = ownSocket(server.port);
  const outcome = deliver('hello', { factory });
  await arrived;
  t.equal(socket.timeout, 120_000, 'six times the timeout');
  // The clock of a socket is Node's own and cannot be lent.
  socket.emit('timeout');
  t.match(await outcome, { ...unknown, reason: /raise timeout_seconds of the entry/ });
});

t.test('DUR-1 · commands that are sent together are no text', async (t) => {
  const { server, deliver } = await openMail(t, ['PIPELINING']);
  server.script = { step: 'DATA', reply: 'close' };
  t.match(await deliver('hello'), transient);

  server.script = { step: 'text', reply: 'close' };
  t.match(await deliver('hello'), unknown);

  server.script = undefined;
  t.match(await deliver('hello'), { kind: 'delivered' });
});

t.test('DUR-1 · a mail that is stopped says whether it had begun', async (t) => {
  const { server, deliver } = await openMail(t);
  t.match(await deliver('hello', { signal: AbortSignal.abort() }), transient);

  server.script = { step: 'text', reply: 'silence' };
  const stop = new AbortController();
  const arrived = server.arrival('text');
  const outcome = deliver('hello', { signal: stop.signal });
  await arrived;
  stop.abort();

  t.match(await outcome, unknown);
});

t.test('DUR-1 · a dead server: nothing was sent', async (t) => {
  const { server, deliver } = await openMail(t);
  await server.close();

  t.match(await deliver('hello'), transient);
});

t.test('DLV-1 · verify logs in and sends nothing', async (t) => {
  const { server } = await openMail(t);

  t.match(await createEmail(settingsFor(server.port), ports).verify(never), { kind: 'verified' });
  t.match(await createEmail(settingsFor(server.port, { password: 'wrong' }), ports).verify(never), auth);
  t.same(server.mails, []);
});

/** A transport that keeps what it is given. */
function recording(error?: object) {
  const seen: { options?: MailTransportOptions; mail?: unknown } = {};
  const createMailTransport: MailTransportFactory = (options) => {
    seen.options = options;
    return {
      sendMail: (mail) => {
        seen.mail = mail;
        return error === undefined ? Promise.resolve({}) : Promise.reject(error);
      },
      verify: () => Promise.resolve(true),
      close: () => {},
    };
  };
  return { seen, ports: { ...ports, createMailTransport } };
}

t.test('DLV-1 · the transport is encrypted wherever a password travels', async (t) => {
  for (const [options, expected] of [
    [{}, { port: 587, secure: false, requireTLS: true, auth: { user: smtpUser, pass: smtpPassword } }],
    [{ port: 465 }, { port: 465, secure: true, requireTLS: false }],
    [{ port: '465' }, { port: 465, secure: true }],
    [{ secure: true }, { port: 465, secure: true }],
    [
      { port: 2525, secure: false, username: '', from: smtpUser },
      { port: 2525, requireTLS: false, auth: undefined },
    ],
    [{ access_token: 'tok' }, { auth: { type: 'OAuth2', user: smtpUser, accessToken: 'tok' } }],
  ] as const) {
    const { seen, ports } = recording();
    const account = { host: 'h', username: smtpUser, password: smtpPassword };
    await createEmail({ enabled: true, timeoutMs: 1, options: { ...account, ...options } }, ports).verify(never);
    t.match(seen.options, expected, JSON.stringify(options));
  }
});

t.test('DLV-2 · a mail goes to one address and nothing that looks like more', async (t) => {
  const { seen, ports } = recording();
  const target = createEmail(settingsFor(25), ports);
  for (const chat_id of ['me', 'a@b.c, d@e.f', 'a@b.c\r\nBcc: d@e.f', '<a@b.c>', 'a b@c.d', '"x"@c.d'])
    t.match(await target.deliver(requestOf('hello', { chat_id }), never), notFound, chat_id);
  // The name of the user was not in the payload.
  t.match(await target.deliver(requestOf('hello', { chat_id: '{user.name}@b.c' }), never), {
    ...notFound,
    reason: /not filled in: "\{user\.name\}@b\.c"; check deliver_extra/,
  });
  t.equal(seen.mail, undefined);

  await target.deliver(
    requestOf(['', '```', 'x', '```', 'long '.repeat(60)].join('\n'), { chat_id: 'a@b.c', in_reply_to: 'x\r\nBcc: y' }),
    never,
  );
  t.match(seen.mail, { to: { address: 'a@b.c' }, subject: /^x$/, inReplyTo: undefined });
});

t.test('DLV-1 · a long subject is cut between characters', async (t) => {
  const { seen, ports } = recording();
  const text = `${'x'.repeat(118)}${'😀'.repeat(9)}`;
  await createEmail(settingsFor(25), ports).deliver(requestOf(text, { chat_id: 'a@b.c' }), never);
  t.match(seen.mail, { subject: `${'x'.repeat(118)}😀…` });
});

t.test('DLV-2 · what is missing is said', async (t) => {
  const { ports: mailPorts } = recording();
  const bare = { enabled: true, timeoutMs: 1, options: {} };
  t.match(await createEmail(bare, mailPorts).verify(never), { ...auth, reason: /platforms\.email\.host/ });
  const noSender = { ...bare, options: { host: 'h', from: 'nobody' } };
  t.match(await createEmail(noSender, mailPorts).verify(never), { ...auth, reason: /platforms\.email\.from/ });
});

t.test('DLV-4 · a server that is not reached is named, with the cause of the system', async (t) => {
  const reason = /^email: 127\.0\.0\.1:1 was not reached, .* \(ECONNREFUSED at CONN\)$/;
  t.match(await createEmail(settingsFor(1), ports).verify(never), { ...transient, reason });
});

t.test('DLV-4 · an error of any shape has an outcome', (t) => {
  t.match(readMailError({}, false), transient);
  t.match(readMailError({}, true), unknown);
  t.match(readMailError({ code: 'EDNS', errno: -3001 }, false), { reason: /\(EAI_AGAIN at/ });
  t.match(readMailError({ code: 'EDNS', errno: 5 }, false), { reason: /\(EDNS at/ });
  t.match(readMailError({ code: 'ETLS', command: 'STARTTLS' }, false), permanent);
  t.match(readMailError({ code: 'EOAUTH2' }, false), auth);
  t.match(readMailError({ code: 'sec-odd', command: 'sec odd' }, false), { reason: /no code at the connection/ });
  t.end();
});

t.test('DIS-4 · an empty text is a mail without one', async (t) => {
  const { server, deliver } = await openMail(t);

  t.match(await deliver(' \n'), { kind: 'delivered', messageId: /@/ });
  t.match(server.mails, [/^Subject: Message$/m]);
});

t.test('DLV-4 · a certificate that is not trusted is a refusal that says so', async (t) => {
  const certificates = makeCertificates(makeHome(t).path);
  const { serverCert, serverKey, read } = certificates;
  const server = createTlsServer({ cert: read(serverCert), key: read(serverKey) }, (socket) => {
    socket.on('error', () => {});
    socket.write('220 mail\r\n');
  });
  server.on('tlsClientError', () => {});
  const port = await listenOn(t, server);
  // What is said to this machine is not checked; here it is, as for any other name.
  const factory: MailTransportFactory = ({ tls: _, ...options }) => createTransport(options);
  const settings = settingsFor(port, { secure: true });
  const target = createEmail(settings, { ...ports, createMailTransport: factory });

  for (const outcome of [
    await target.verify(never),
    await target.deliver(requestOf('hello', { chat_id: smtpRecipient }), never),
  ])
    t.match(outcome, { ...permanent, reason: /certificate is not trusted \(.*\); .*NODE_EXTRA_CA_CERTS/ });
});

t.test('DLV-4 · a mail waits while the dates of a certificate do not fit the clock', async (t) => {
  const expired = () =>
    Promise.reject(Object.assign(new Error('dates'), { code: 'ESOCKET', originalCode: 'CERT_HAS_EXPIRED' }));
  const factory: MailTransportFactory = () => ({ sendMail: expired, verify: expired, close: () => {} }) as never;
  const target = createEmail(settingsFor(25), { ...ports, createMailTransport: factory });

  for (const outcome of [
    await target.verify(never),
    await target.deliver(requestOf('hello', { chat_id: smtpRecipient }), never),
  ])
    t.match(outcome, { ...transient, reason: /certificate is not trusted \(CERT_HAS_EXPIRED\); .*clock/ });
});
