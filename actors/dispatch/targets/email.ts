/**
 * email: one message over SMTP by nodemailer: implicit TLS on port 465, STARTTLS elsewhere. A text is sent in one piece.
 * @see [RFC 5321 §4.2](https://www.rfc-editor.org/rfc/rfc5321.html#section-4.2) for the replies
 * @see DLV-1 in docs/specification.md
 */

import { getSystemErrorName } from 'node:util';
import { cut } from '../../../machines/base/json.ts';
import { maxTimerMs } from '../../../machines/base/timer.ts';
import type { PlatformSettings } from '../../../machines/config/settings.ts';
import { mailAddress } from '../../../machines/config/targets.ts';
import {
  deliveredAs,
  refused,
  type SendOutcome,
  transient,
  type Undelivered,
  unknownOutcome,
} from '../../../machines/dispatch/send-outcome.ts';
import { certificateProblem } from '../../connection-cause.ts';
import {
  createPieceTarget,
  missing,
  optionOf,
  type PlatformTarget,
  refusedAs,
  type TargetPorts,
  wordOf,
} from './platform-target.ts';

/** The options of nodemailer's SMTP transport that are used. */
export interface MailTransportOptions {
  readonly host: string;
  readonly port: number;
  /** TLS from the first byte. */
  readonly secure: boolean;
  /** Refuses a server that offers no STARTTLS. */
  readonly requireTLS: boolean;
  /** Only on loopback, where an untrusted certificate is acceptable. */
  readonly tls?: { readonly rejectUnauthorized: false };
  readonly auth?:
    | { readonly user: string; readonly pass: string }
    | { readonly type: 'OAuth2'; readonly user: string; readonly accessToken: string };
  readonly connectionTimeout: number;
  readonly greetingTimeout: number;
  readonly socketTimeout: number;
  readonly disableFileAccess: true;
  readonly disableUrlAccess: true;
  /** Makes the transport log each SMTP line, which shows whether the text was sent. */
  readonly transactionLog: true;
  readonly logger: Readonly<Record<'trace' | 'debug' | 'info' | 'warn' | 'error', MailLog>>;
}

type MailLog = (entry: { readonly tnx?: unknown }, message?: unknown) => void;

interface Mail {
  readonly from: string;
  /** As an object, so that it is not parsed as an address list. */
  readonly to: { readonly name: string; readonly address: string };
  readonly subject: string;
  readonly text: string;
  readonly messageId: string;
  readonly inReplyTo?: string;
  readonly references?: string;
  /** RFC 3834 §5: suppresses automatic replies. */
  readonly headers: { readonly 'Auto-Submitted': 'auto-generated' };
  readonly signal: AbortSignal;
}

/** The part of nodemailer's transport that is used. */
interface MailTransport {
  sendMail(mail: Mail): Promise<{ readonly messageId?: string; readonly rejected?: readonly unknown[] }>;
  verify(): Promise<unknown>;
  close(): void;
}

export type MailTransportFactory = (options: MailTransportOptions) => MailTransport | Promise<MailTransport>;

/** Loaded with the first mail, so that a gateway that sends none does not load the package. */
const nodemailerTransport: MailTransportFactory = async (options) => {
  const { createTransport } = await import('nodemailer');
  return createTransport(options);
};

interface MailPorts extends TargetPorts {
  /** nodemailer's unless given. */
  readonly createMailTransport?: MailTransportFactory;
}

/** The errors of nodemailer. */
interface MailError {
  readonly code?: unknown;
  readonly responseCode?: unknown;
  readonly command?: unknown;
  /** Of the system, such as that of ECONNREFUSED, which `code` has replaced. */
  readonly errno?: unknown;
}

/** Loopback traffic does not leave this machine, encrypted or not. */
const loopback = /^(?:localhost|127(?:\.\d{1,3}){3}|::1)$/i;
const implicitTlsPort = 465;
/** A reply may take so many times `timeout_seconds`. */
const replyTimes = 6;
const submissionPort = 587;
const maxSubjectLength = 120;
/** Servers commonly accept 10 MB and more. */
const maxBytes = 5_000_000;

export function createEmail(settings: PlatformSettings, ports: MailPorts): PlatformTarget {
  const { createMailTransport = nodemailerTransport } = ports;
  const from = optionOf(settings, 'from') ?? optionOf(settings, 'username') ?? '';
  const sender = /<([^<>]+)>\s*$/.exec(from)?.[1] ?? from;
  const withTransport = async <Outcome>(use: (transport: MailTransport) => Promise<Outcome>) => {
    const unanswered: unknown[] = [];
    let textSent = false;
    const options = transportOptions(settings, (by, line) => {
      // The text follows the server's reply to DATA. With PIPELINING (RFC 2920), others come before.
      if (by === 'client') unanswered.push(line);
      else textSent ||= unanswered.shift() === 'DATA';
    });
    const transport = await createMailTransport(options);
    try {
      return await use(transport);
    } catch (thrown) {
      const untrusted = textSent ? undefined : certificateProblem(thrown);
      if (untrusted === undefined)
        return readMailError(thrown as MailError, textSent, `${options.host}:${options.port}`);
      const why = `the mail server cannot be trusted: ${untrusted.why}`;
      return untrusted.passes ? transient(why) : refused('permanent', why);
    } finally {
      transport.close();
    }
  };

  return createPieceTarget(
    {
      name: 'email',
      limit: { max: maxBytes, unit: 'utf8Bytes' },
      maxPieces: 1,
      takesEmpty: true,
      problem:
        missing('email', settings, 'host') ??
        (mailAddress.test(sender)
          ? undefined
          : 'platforms.email.from is no address; set it to one such as bot@example.org'),
      send: async ({ chat, text, extra, key }, signal) => {
        if (signal.aborted) return transient('stopped before the mail was sent');
        return withTransport(async (transport): Promise<SendOutcome> => {
          const replyTo = headerId(wordOf(extra, 'in_reply_to', 'thread_id'));
          const messageId = `<${key}@${sender.slice(sender.lastIndexOf('@') + 1)}>`;
          const sent = await transport.sendMail({
            from,
            to: { name: '', address: chat },
            subject: subjectOf(wordOf(extra, 'subject', 'title') ?? text),
            text,
            messageId,
            headers: { 'Auto-Submitted': 'auto-generated' },
            ...(replyTo === undefined ? {} : { inReplyTo: replyTo, references: replyTo }),
            signal,
          });
          if ((sent.rejected ?? []).length > 0) return refusedAs('notFound', 'the server refused the recipient');
          return deliveredAs(sent.messageId ?? messageId);
        });
      },
      verify: () =>
        withTransport(async (transport) => {
          await transport.verify();
          return { kind: 'verified' } as const;
        }),
    },
    settings,
    ports,
  );
}

function transportOptions(
  settings: PlatformSettings,
  sees: (by: 'client' | 'server', line: unknown) => void,
): MailTransportOptions {
  const { timeoutMs } = settings;
  const written = settings.options.secure;
  const port = Number(optionOf(settings, 'port') ?? (written === true ? implicitTlsPort : submissionPort));
  const secure = typeof written === 'boolean' ? written : port === implicitTlsPort;
  const user = optionOf(settings, 'username');
  const pass = optionOf(settings, 'password');
  const accessToken = optionOf(settings, 'access_token');
  const auth =
    user !== undefined && accessToken !== undefined
      ? ({ type: 'OAuth2', user, accessToken } as const)
      : user !== undefined && pass !== undefined
        ? { user, pass }
        : undefined;
  const host = optionOf(settings, 'host') ?? '';
  const isHere = loopback.test(host);
  return {
    host,
    port,
    secure,
    // A password is not sent in the clear; a relay without login may have no TLS.
    requireTLS: !secure && auth !== undefined && !isHere && settings.options.require_tls !== false,
    ...(isHere ? { tls: { rejectUnauthorized: false } } : {}),
    ...(auth === undefined ? {} : { auth }),
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    // RFC 5321 §4.5.3.2: a server may examine a text for minutes before it answers.
    socketTimeout: Math.min(replyTimes * timeoutMs, maxTimerMs),
    disableFileAccess: true,
    disableUrlAccess: true,
    transactionLog: true,
    logger: {
      trace: silent,
      debug: (entry, message) => {
        if (entry.tnx === 'client' || entry.tnx === 'server') sees(entry.tnx, message);
      },
      info: silent,
      warn: silent,
      error: silent,
    },
  };
}

function silent(): void {}

/**
 * Reads the code of the server's reply, else how the connection failed, and whether the text had been sent by then. Never
 * quotes the server's text.
 */
export function readMailError(
  { code, responseCode, command, errno }: MailError,
  textSent: boolean,
  server = 'the server',
): Undelivered {
  const step = typeof command === 'string' && /^[A-Z][A-Z0-9 ]{0,20}$/.test(command) ? command : 'the connection';
  if (typeof responseCode === 'number') {
    const said = `SMTP ${responseCode} at ${step}`;
    if (command === 'STARTTLS') return withoutEncryption(responseCode, said);
    // RFC 4954 §6: a password transition is needed, so waiting does not help.
    if (responseCode === 432) return refusedAs('auth', said);
    if (responseCode < 500)
      return transient(
        code === 'EAUTH'
          ? `the server cannot check the login now (${said})`
          : `the server asks to come again later (${said})`,
      );
    if (code === 'EAUTH' || [530, 534, 535, 538].includes(responseCode)) return refusedAs('auth', said);
    // RFC 5321 §4.5.3.1.10: not about the mail yet, and temporary.
    if (responseCode === 552 && command === 'RCPT TO') return transient(`the recipient’s mailbox is full (${said})`);
    if (responseCode === 552 || responseCode === 523) return refusedAs('tooLong', said);
    // At any other step these codes are about the sender or the message.
    if (command === 'RCPT TO' && responseCode !== 554) return refusedAs('notFound', said);
    return refusedAs('permanent', said);
  }
  const name = typeof errno === 'number' && errno < 0 ? getSystemErrorName(errno) : code;
  const said = `${typeof name === 'string' && /^E[A-Z\d_]{2,20}$/.test(name) ? name : 'no code'} at ${step}`;
  // Once the text is sent, only the server's last reply shows whether it was accepted.
  if (textSent && code === 'ETIMEDOUT')
    return unknownOutcome(`no reply came after the text (${said}); if that lasts, raise timeout_seconds of the entry`);
  if (textSent) return unknownOutcome(`the connection was lost after the text was sent (${said})`);
  switch (code) {
    case 'EAUTH':
    case 'ENOAUTH':
    case 'EOAUTH2':
      return refusedAs('auth', said);
    case 'ETLS':
      return refused(
        'permanent',
        `no encrypted connection came about (${said}); check port, secure and the certificate`,
      );
    case 'EENVELOPE':
    case 'EMESSAGE':
    case 'ESTREAM':
    case 'ECONFIG':
      return refusedAs('permanent', said);
    default:
      return transient(`${server} was not reached, or broke off before the text was sent (${said})`);
  }
}

/**
 * Reads a refusal of STARTTLS. Nothing has been sent by then, not even a password. A 4xx is retryable (454 is "TLS not
 * available due to temporary reason"), but a server without a certificate never recovers, so the reason names the fix.
 * @see [RFC 3207 §4](https://www.rfc-editor.org/rfc/rfc3207.html#section-4)
 */
function withoutEncryption(responseCode: number, said: string): Undelivered {
  return responseCode < 500
    ? transient(
        `the server offers no encryption now (${said}); if that lasts, correct its TLS, or check port and secure of the entry`,
      )
    : refused('permanent', `the server offers no encryption (${said}); check port and secure of the entry`);
}

/** The first line with text, as a subject has one line. */
function subjectOf(text: string): string {
  const line = text
    .split('\n')
    .map((one) => one.replace(/^[#>*\s-]+/, '').trim())
    .find((one) => one !== '' && !one.startsWith('```'));
  const subject = (line ?? 'Message').replace(/\p{Cc}/gu, ' ');
  return cut(subject, maxSubjectLength) === subject ? subject : `${cut(subject, maxSubjectLength - 1).trimEnd()}…`;
}

/** A message id with its brackets; undefined if it is not one. */
function headerId(written: string | undefined): string | undefined {
  const id = written?.replace(/^<|>$/g, '');
  return id !== undefined && /^[^\s<>]{3,250}$/.test(id) ? `<${id}>` : undefined;
}
