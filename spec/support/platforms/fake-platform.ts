/**
 * A platform on loopback: answers as its API does, keeps the messages that it took, and fails in the ways that networks
 * fail where a spec asks for it. What each platform says and demands is in the file of its name.
 */

import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Test } from 'tap';
import type { JsonObject } from '../../../machines/base/json.ts';
import type { VerifyOutcome } from '../../../machines/dispatch/send-outcome.ts';
import type { TextLimit } from '../../../machines/dispatch/split-text.ts';

export interface FakeRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** Empty where the body is none. */
  // biome-ignore lint/suspicious/noExplicitAny: a fake looks into bodies of every shape, and a wrong one must fail loudly.
  readonly json: any;
  readonly form: URLSearchParams;
}

export interface FakeAnswer {
  readonly status: number;
  readonly json?: unknown;
  readonly text?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** What happens to the next request that sends a message. */
export type Script =
  | FakeAnswer
  /** The connection ends before anything is done. */
  | 'reset'
  /** The message is taken, and the connection ends before the answer. */
  | 'takenThenReset'
  /** The message is taken, and the answer breaks off. */
  | 'takenThenBrokenOff'
  /** No answer comes until the platform is released. */
  | 'hang';

export interface TakenMessage {
  readonly place: string;
  readonly text: string;
  readonly thread?: string | undefined;
}

export interface World {
  readonly messages: TakenMessage[];
  /** Keeps a message, once per key, and gives the number it has. */
  take(message: TakenMessage, key?: string): number;
}

export interface Behaviour {
  /** Whether a request sends a message; the others get tokens and look things up. */
  sends(request: FakeRequest): boolean;
  answer(request: FakeRequest, world: World): FakeAnswer;
}

/** What the contract needs to know of a target and its platform. */
export interface PlatformFixture extends Behaviour {
  readonly target: string;
  /** Where a target has several ways to its platform. */
  readonly variant?: string;
  readonly options: JsonObject;
  /** Options that the platform does not accept. */
  readonly wrongOptions: JsonObject;
  /** Undefined where the credentials lead to one place. */
  readonly chat?: string;
  /** How the platform's side calls that place, unless the same. */
  readonly place?: string;
  /** A place in the right form that the platform does not know, and how it says so. */
  readonly unknown?: { readonly chat: string; readonly outcome: object };
  /** What each delivery to this platform must bring along. */
  readonly extra?: JsonObject;
  readonly malformedChats?: readonly string[] | undefined;
  readonly limit: TextLimit;
  readonly maxPieces: number;
  /** An empty text is a message there. */
  readonly takesEmpty?: true;
  /** Any status of success means that the message was taken, whatever the body. */
  readonly accepts2xx?: true;
  /** A message that was lost is sent again at once, and taken once. */
  readonly resends?: true;
  readonly verifies: { readonly kind: VerifyOutcome['kind']; readonly [key: string]: unknown };
  /** Asks to wait for two seconds. */
  readonly limited: FakeAnswer;
  /** Answers as they were recorded or documented, and what they mean. */
  readonly recorded: readonly (readonly [title: string, answer: FakeAnswer, outcome: object])[];
}

export interface FakePlatform {
  readonly base: string;
  readonly requests: FakeRequest[];
  readonly world: World;
  /** For the next requests that send, in order. */
  readonly scripts: Script[];
  /** Resolves when the next request that sends has arrived. */
  arrival(): Promise<void>;
  /** Answers what hangs. */
  release(): void;
  close(): Promise<void>;
}

/** Stands in every platform's words, so that a spec can see them leak. */
export const providerWords = 'PROVIDER-WORDS';

/** Closes with the spec, unless it is closed before. */
export async function startPlatform(t: Test, behaviour: Behaviour, port = 0): Promise<FakePlatform> {
  const requests: FakeRequest[] = [];
  const messages: TakenMessage[] = [];
  const numbers = new Map<string, number>();
  const scripts: Script[] = [];
  const arrivals: (() => void)[] = [];
  const held: (() => void)[] = [];
  const world: World = {
    messages,
    take(message, key) {
      const known = key === undefined ? undefined : numbers.get(key);
      if (known !== undefined) return known;
      messages.push(message);
      if (key !== undefined) numbers.set(key, messages.length);
      return messages.length;
    },
  };

  const server = createServer((incoming, response) => {
    void read(incoming).then((request) => {
      requests.push(request);
      if (!behaviour.sends(request)) return write(response, behaviour.answer(request, world));
      for (const arrived of arrivals.splice(0)) arrived();
      const script = scripts.shift();
      switch (script) {
        case undefined:
          return write(response, behaviour.answer(request, world));
        case 'hang':
          held.push(() => write(response, behaviour.answer(request, world)));
          return;
        case 'takenThenReset':
          behaviour.answer(request, world);
          return incoming.socket.resetAndDestroy();
        case 'takenThenBrokenOff':
          behaviour.answer(request, world);
          response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
          response.write('{"ok":', () => incoming.socket.destroy());
          return;
        case 'reset':
          return incoming.socket.resetAndDestroy();
        default:
          return write(response, script);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const platform: FakePlatform = {
    base: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    world,
    scripts,
    release: () => {
      for (const answer of held.splice(0)) answer();
    },
    arrival: () => new Promise((resolve) => arrivals.push(resolve)),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  t.teardown(() => platform.close());
  return platform;
}

async function read(incoming: IncomingMessage): Promise<FakeRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString('utf8');
  const url = new URL(incoming.url ?? '/', 'http://fake');
  const isJson = (incoming.headers['content-type'] ?? '').startsWith('application/json');
  return {
    method: incoming.method ?? '',
    path: url.pathname,
    query: url.searchParams,
    headers: incoming.headers,
    text,
    json: isJson ? JSON.parse(text) : {},
    form: new URLSearchParams(isJson ? '' : text),
  };
}

function write(response: ServerResponse, { status, json, text, headers }: FakeAnswer): void {
  const body = text ?? (json === undefined ? '' : JSON.stringify(json));
  const type = text === undefined ? 'application/json' : 'text/html';
  response.writeHead(status, { 'content-type': type, ...headers }).end(body);
}

/** The shapes that outcomes are compared with. */
export const is = {
  auth: { kind: 'refused', class: 'auth' },
  forbidden: { kind: 'refused', class: 'forbidden' },
  notFound: { kind: 'refused', class: 'notFound' },
  tooLong: { kind: 'refused', class: 'tooLong' },
  permanent: { kind: 'refused', class: 'permanent' },
  transient: { kind: 'transient' },
  unknown: { kind: 'unknown' },
  delivered: { kind: 'delivered' },
  waitMs: (retryAfterMs: number) => ({ kind: 'rateLimited', retryAfterMs }) as const,
} as const;
