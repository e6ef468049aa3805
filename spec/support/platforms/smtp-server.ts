/** A small SMTP server: takes mail for one recipient from one user, and fails at the step that a spec names. */

import { type AddressInfo, createServer, type Socket } from 'node:net';
import type { Test } from 'tap';

export const smtpUser = 'bot@example.org';
export const smtpPassword = 'sec-smtp-password';
export const smtpRecipient = 'me@example.org';

export type SmtpStep = 'greeting' | 'EHLO' | 'STARTTLS' | 'AUTH' | 'MAIL' | 'RCPT' | 'DATA' | 'text';
/** A reply instead of the usual one, or the end of the connection (`reset`: at once), or none at all. */
export interface SmtpScript {
  readonly step: SmtpStep;
  readonly reply: string | 'close' | 'reset' | 'silence';
}

export interface SmtpServer {
  readonly port: number;
  /** Mails as they were taken. */
  readonly mails: string[];
  script: SmtpScript | undefined;
  arrival(step: SmtpStep): Promise<void>;
  close(): Promise<void>;
}

/**
 * Closes with the spec, unless it is closed before.
 * @param extensions what it offers beside its usual ones
 */
export async function startSmtp(t: Test, extensions: readonly string[] = []): Promise<SmtpServer> {
  const mails: string[] = [];
  const sockets = new Set<Socket>();
  const waiting = new Map<SmtpStep, () => void>();
  const state: { script: SmtpScript | undefined } = { script: undefined };

  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => {});
    /** Answers a step as the script says, else as usual; false where there is no usual any more. */
    const answer = (step: SmtpStep, usual: string): boolean => {
      waiting.get(step)?.();
      const reply = state.script?.step === step ? state.script.reply : usual;
      if (reply === 'reset') socket.resetAndDestroy();
      else if (reply === 'close') socket.end();
      else if (reply !== 'silence') socket.write(`${reply}\r\n`);
      return reply === usual;
    };
    let text: string | undefined;
    let pending = '';
    answer('greeting', '220 mail.example.org ESMTP');
    socket.on('data', (chunk: Buffer) => {
      pending += chunk.toString('latin1');
      for (;;) {
        if (text !== undefined) {
          const end = pending.indexOf('\r\n.\r\n');
          if (end === -1) return;
          text = pending.slice(0, end);
          pending = pending.slice(end + 5);
          if (state.script?.step !== 'text' || ['close', 'reset', 'silence'].includes(state.script.reply))
            mails.push(text);
          text = undefined;
          answer('text', '250 2.0.0 Ok: queued as A1');
          continue;
        }
        const end = pending.indexOf('\r\n');
        if (end === -1) return;
        const line = pending.slice(0, end);
        pending = pending.slice(end + 2);
        const [word = ''] = line.toUpperCase().split(' ');
        if (word === 'EHLO') {
          // It encrypts nothing: STARTTLS is offered where a spec scripts the refusal.
          const offers = [...extensions, ...(state.script?.step === 'STARTTLS' ? ['STARTTLS'] : [])];
          const lines = offers.map((offer) => `250-${offer}\r\n`).join('');
          answer('EHLO', `250-mail.example.org\r\n${lines}250-AUTH PLAIN\r\n250 8BITMIME`);
        } else if (word === 'STARTTLS') answer('STARTTLS', '502 5.5.1 PROVIDER-WORDS');
        else if (word === 'AUTH') {
          const plain = Buffer.from(line.split(' ')[2] ?? '', 'base64').toString();
          answer('AUTH', plain === `\0${smtpUser}\0${smtpPassword}` ? '235 2.7.0 Ok' : '535 5.7.8 PROVIDER-WORDS');
        } else if (word === 'MAIL') answer('MAIL', '250 2.1.0 Ok');
        else if (word === 'RCPT')
          answer('RCPT', line.includes(`<${smtpRecipient}>`) ? '250 2.1.5 Ok' : '550 5.1.1 PROVIDER-WORDS');
        else if (word === 'DATA') {
          if (answer('DATA', '354 go ahead')) text = '';
        } else if (word === 'QUIT') socket.end('221 bye\r\n');
        else socket.write('250 Ok\r\n');
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const smtp: SmtpServer = {
    port: (server.address() as AddressInfo).port,
    mails,
    get script() {
      return state.script;
    },
    set script(script) {
      state.script = script;
    },
    arrival: (step) => new Promise((resolve) => waiting.set(step, resolve)),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
  t.teardown(() => smtp.close());
  return smtp;
}
