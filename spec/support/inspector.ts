/** The inspector's listener as a page sees it: a session, requests, and the stream taken apart. */

import { createHmac, randomBytes } from 'node:crypto';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import type { Test } from 'tap';
import type { Json, JsonObject } from '../../machines/base/json.ts';
import {
  challengeHeader,
  type Introduction,
  pageProofText,
  proofHeader,
  sessionElement,
} from '../../machines/base/page-proof.ts';
import { connectControl } from '../../runtime/control/client.ts';
import type { DeltaMessage, Health, SnapshotMessage } from '../../runtime/control/contract/wire.ts';
import { collected } from './processes.ts';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Asking {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface PageClient {
  /** `http://127.0.0.1:<port>`. */
  readonly url: string;
  readonly cookie: string;
  /** The headers of a request with the session and its proof. */
  readonly own: Readonly<Record<string, string>>;
  /** With the session, unless the headers say otherwise. */
  ask(path: string, asking?: Asking): Promise<Answer>;
  /** The result of a command, or its error. */
  rpc(method: string, params?: JsonObject): Promise<Json>;
  stream(): Promise<PageStream>;
}

export interface PageStream {
  readonly snapshots: readonly SnapshotMessage[];
  readonly deltas: readonly DeltaMessage[];
  readonly health: readonly Health[];
  /** All of it as it came. */
  text(): string;
  /** Resolves once what came by then satisfies. */
  until(satisfied: () => boolean): Promise<void>;
  close(): void;
}

/** One request as it is written, without a browser's manners. */
export function ask(url: string, { method = 'GET', headers = {}, body }: Asking = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asked = httpRequest(url, { method, headers, agent: false }, (response) => {
      const text = collected(response);
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: text() }));
      response.on('error', reject);
    });
    asked.on('error', reject);
    asked.end(body);
  });
}

/** The link that `agent inspect --web` would print; asked until the listener stands. */
export async function linkOf(home: string, params: JsonObject = {}): Promise<string> {
  for (;;) {
    const client = await connectControl(`${home}/gateway.sock`);
    try {
      const answer = (await client?.call('inspect.link', params)) as { readonly url: string } | undefined;
      if (answer !== undefined) return answer.url;
    } catch {
      // The listener stands a moment after the daemon.
    } finally {
      client?.close();
    }
  }
}

/** The session that the page finds in the document that a link opens; empty texts where there is none. */
export function sessionIn(document: string): { readonly id: string; readonly key: string } {
  const [, id = '', key = ''] =
    new RegExp(`<meta name="${sessionElement}" content="([\\w-]*)\\.([\\w-]*)" />`).exec(document) ?? [];
  return { id, key };
}

export function hmacOf(key: string, text: string): string {
  return createHmac('sha256', Buffer.from(key, 'base64url')).update(text).digest('base64url');
}

/** Opens a link as the page does: the headers of a request with its session and its proof. */
export async function headersOf(link: string): Promise<Record<string, string>> {
  const { origin } = new URL(link);
  const opened = await ask(link);
  const cookie = opened.headers['set-cookie']?.[0]?.split(';')[0] ?? '';
  return { cookie, origin, [proofHeader]: await proofOf(origin, cookie, sessionIn(opened.body)) };
}

/** The page's proof for the process that listens there now. */
export async function proofOf(
  origin: string,
  cookie: string,
  { id, key }: { readonly id: string; readonly key: string },
): Promise<string> {
  const challenge = randomBytes(32).toString('base64url');
  const { body } = await ask(`${origin}/hello`, { headers: { cookie, [challengeHeader]: challenge } });
  const { nonce } = JSON.parse(body) as Introduction;
  return hmacOf(key, pageProofText({ id, origin, nonce }));
}

export async function openPage(t: Test, home: string, params: JsonObject = {}): Promise<PageClient> {
  const link = await linkOf(home, params);
  const url = new URL(link).origin;
  const own = await headersOf(link);
  return {
    url,
    cookie: own.cookie ?? '',
    own,
    ask: (path, asking = {}) => ask(`${url}${path}`, { ...asking, headers: { ...own, ...asking.headers } }),
    async rpc(method, params = {}) {
      const { body } = await ask(`${url}/rpc`, {
        method: 'POST',
        headers: { ...own, 'content-type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      });
      const message = JSON.parse(body) as { readonly result?: Json; readonly error?: Json };
      return message.result ?? message.error ?? null;
    },
    stream: () => openStream(t, url, own),
  };
}

/** Opens the stream; resolves with a promise that resolves once the daemon has closed it. */
export function openUntilClosed(
  t: Test,
  { url, own }: Pick<PageClient, 'url' | 'own'>,
): Promise<{ readonly closed: Promise<void> }> {
  return new Promise((resolve, reject) => {
    const asked = httpRequest(`${url}/stream`, { headers: own, agent: false }, (response) => {
      const closed = new Promise<void>((over) => response.once('close', () => over()));
      response.on('error', () => {});
      response.once('data', () => resolve({ closed })).resume();
    });
    t.teardown(() => asked.destroy());
    asked.once('error', reject);
    asked.end();
  });
}

async function openStream(t: Test, url: string, headers: Readonly<Record<string, string>>): Promise<PageStream> {
  const snapshots: SnapshotMessage[] = [];
  const deltas: DeltaMessage[] = [];
  const health: Health[] = [];
  const waiting = new Set<() => void>();
  let whole = '';
  let rest = '';
  const take = (block: string): void => {
    const name = /^event: (\w+)$/m.exec(block)?.[1];
    const data = /^data: (.*)$/m.exec(block)?.[1];
    if (name === undefined || data === undefined) return;
    const message = JSON.parse(data) as never;
    if (name === 'snapshot') snapshots.push(message);
    else if (name === 'delta') deltas.push(message);
    else if (name === 'health') health.push(message);
    for (const look of waiting) look();
  };
  const request = httpRequest(`${url}/stream`, { headers, agent: false });
  request.on('error', () => {});
  request.on('response', (response) => {
    response.setEncoding('utf8').on('data', (chunk: string) => {
      whole += chunk;
      const blocks = (rest + chunk).split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks) take(block);
    });
    response.on('error', () => {});
  });
  request.end();
  t.teardown(() => request.destroy());
  const until = (satisfied: () => boolean): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (!satisfied()) return;
        waiting.delete(look);
        resolve();
      };
      waiting.add(look);
      look();
    });
  await until(() => snapshots.length > 0);
  return { snapshots, deltas, health, text: () => whole, until, close: () => void request.destroy() };
}
