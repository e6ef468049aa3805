/**
 * Opens a session with one server: transport, handshake in the right era and first listing, all within the server's
 * connect timeout. Tries the other era only if the server answered the first and refused it.
 * @see ERA-1, ERA-2 and LIF-3 in docs/specification.md
 */

import { pathToFileURL } from 'node:url';
import {
  Client,
  extractWWWAuthenticateParams,
  type FetchLike,
  InsufficientScopeError,
  ProtocolError,
} from '@modelcontextprotocol/client';
import { defined, isJsonObject, type JsonObject } from '../../machines/base/json.ts';
import {
  type ConnectFailure,
  isSessionExpiry,
  refusesMember,
  statelessRevision,
} from '../../machines/mcp/connect-failure.ts';
import { type FailedAttempt, firstAttempt, type Handshake, nextAttempt } from '../../machines/mcp/era.ts';
import { withPlainForm, withPlainForms } from '../../machines/mcp/plain-form.ts';
import { plainHandshake } from '../../machines/mcp/plain-handshake.ts';
import { rootsAnswer } from '../../machines/mcp/server-request.ts';
import type { ServerSettings } from '../../machines/mcp/server-settings.ts';
import { withoutNulls } from '../../machines/mcp/without-nulls.ts';
import { createStopSignal, unlessAborted } from '../stop-signal.ts';
import { type EndedStreams, type Handler, reportEndedStreams, streamEndedWords } from './adapt-transport.ts';
import { boundMessages } from './bound-messages.ts';
import { readConnectError } from './connect-errors.ts';
import { type AskingCall, createOpenCalls, type OpenCalls } from './open-calls.ts';
import { createSession, type Listing, type Session, type SessionFacts } from './session.ts';
import { createStandingStream, isReadyNotice } from './standing-stream.ts';
import { type OpenTransport, openTransport, type TransportPorts } from './transports.ts';

export type RequestAnswer =
  | { readonly kind: 'answered'; readonly result: JsonObject }
  | { readonly kind: 'refused'; readonly reason: string };

/**
 * Answers the requests of a server to its client; params and results are those of the protocol. `calls` are the calls
 * that a request may belong to. Never rejects.
 */
export interface RequestHandlers {
  /** Stops the clocks of the calls while a person is asked. */
  elicit(params: JsonObject, signal: AbortSignal, calls: readonly AskingCall[]): Promise<RequestAnswer>;
  sample(params: JsonObject, signal: AbortSignal, calls: readonly AskingCall[]): Promise<RequestAnswer>;
}

interface SessionPorts {
  readonly transport: Omit<TransportPorts, 'signal'>;
  readonly facts: SessionFacts;
  readonly requests: RequestHandlers;
  /** The handshake that last succeeded with the server. */
  readonly handshake: { get(): Handshake | undefined; set(handshake: Handshake): void };
  /** The name of this gateway in listings. */
  readonly gateway?: string | undefined;
}

export type OpenVerdict =
  | { readonly kind: 'opened'; readonly session: Session; readonly listing: Listing }
  | { readonly kind: 'failed'; readonly failures: readonly ConnectFailure[] };

const invalidRequest = -32_600;
/** A result that may be cached has one of these members. */
const cacheable = ['tools', 'resources', 'resourceTemplates', 'prompts', 'contents'] as const;
/** Servers that refused a handshake for the modes of elicitation, which are newer than the capability. */
const strict = new WeakSet<ServerSettings>();

/** Never rejects. A transport that is open when the signal aborts is closed. */
export async function openSession(
  settings: ServerSettings,
  ports: SessionPorts,
  signal: AbortSignal,
): Promise<OpenVerdict> {
  const { signal: limit } = createStopSignal([signal], settings.connectTimeoutMs);
  const tried: FailedAttempt[] = [];
  let handshake = firstAttempt(settings.protocol, ports.handshake.get());
  for (;;) {
    const attempt = await attemptOnce(settings, ports, { handshake, limit });
    if (attempt.kind === 'opened') {
      ports.handshake.set(handshake);
      return attempt;
    }
    const mayOmit = handshake === 'initialize' && settings.elicitation.enabled && !strict.has(settings);
    if (mayOmit && refusesMember(attempt.failure)) {
      strict.add(settings);
      continue;
    }
    const { failure, accepted } = attempt;
    tried.push({ handshake, failure, accepted });
    const next = nextAttempt(settings.protocol, tried as [FailedAttempt, ...FailedAttempt[]]);
    if (next.kind === 'failed') return next;
    handshake = next.handshake;
  }
}

type Attempt =
  | Extract<OpenVerdict, { kind: 'opened' }>
  | { readonly kind: 'failed'; readonly failure: ConnectFailure; readonly accepted: boolean };

async function attemptOnce(
  settings: ServerSettings,
  ports: SessionPorts,
  { handshake, limit }: { readonly handshake: Handshake; readonly limit: AbortSignal },
): Promise<Attempt> {
  let opened: OpenTransport | undefined;
  let accepted = false;
  let lastStatus: number | undefined;
  let namesOauth = false;
  let hasNamedOauth = false;
  let lacked: InsufficientScopeError | undefined;
  let ended: EndedStreams | undefined;
  const calls = createOpenCalls();
  const stream = settings.transport.kind === 'http' ? createStandingStream() : undefined;
  const wrapFetch = (fetch: FetchLike): FetchLike => {
    const authorized = ports.transport.wrapFetch?.(fetch) ?? fetch;
    const inner = stream?.watch(authorized) ?? authorized;
    return async (url, init) => {
      // Instead of the transport's, which ends with the session: joined by the SDK, each call would leave a trace in it.
      const ofCall = calls.signalOf(init);
      const answer = await inner(url, ofCall === undefined ? init : { ...init, signal: ofCall });
      lastStatus = answer.status;
      namesOauth = /\bresource_metadata\s*=/i.test(answer.headers.get('www-authenticate') ?? '');
      hasNamedOauth ||= namesOauth;
      if (answer.status === 400 && isReadyNotice(init?.body)) return takenNotice(answer, opened?.hasSession() ?? false);
      lacked = settings.transport.kind === 'sse' ? lackedScope(answer) : undefined;
      if (lacked === undefined || init?.method !== 'POST') return answer;
      await answer.body?.cancel();
      throw lacked;
    };
  };
  try {
    limit.throwIfAborted();
    opened = await openTransport(settings, { ...ports.transport, wrapFetch, signal: limit });
    const client = createClient(settings, { ...ports, calls }, handshake);
    // The pipes of a child are one stream, and its end is the end of the connection.
    if (settings.transport.kind !== 'stdio') ended = reportEndedStreams(opened.transport, opened.isCut);
    opened.putBefore([
      boundMessages(opened.transport, handshake, () => accepted),
      readNulls,
      readForms,
      ...(handshake === 'discover' ? [completeResults] : []),
      ended ?? {},
    ]);
    // Some steps of a connect take no signal; the limit applies to them too.
    await unlessAborted(client.connect(opened.transport, { timeout: settings.connectTimeoutMs, signal: limit }), limit);
    accepted = true;
    const era = client.getProtocolEra() === 'modern' ? 'stateless' : 'legacy';
    const session = createSession(
      {
        client,
        opened,
        stream,
        settings,
        era,
        calls,
        namesOauth: () => hasNamedOauth,
        gateway: ports.gateway,
        log: ports.transport.log,
      },
      ports.facts,
    );
    const listing = await unlessAborted(session.list(limit), limit);
    return { kind: 'opened', session, listing };
  } catch (thrown) {
    // Read before closing, because closing ends a child that still runs.
    const failure: ConnectFailure = limit.aborted
      ? { kind: 'timeout', afterMs: settings.connectTimeoutMs }
      : readConnectError(lacked ?? thrown, {
          ...(settings.transport.kind === 'stdio' ? {} : { url: settings.transport.url }),
          ...{ timeoutMs: settings.connectTimeoutMs, exitStatus: opened?.exitStatus() },
        });
    const answer = { status: lastStatus, streamEnded: ended?.hasReported() ?? false };
    const read = withSession(withTarget(withLastWords(withAnswer(failure, answer), opened), opened), opened);
    const reported = namesOauth && read.kind === 'http' ? ({ ...read, namesOauth } as const) : read;
    await opened?.close();
    return { kind: 'failed', failure: reported, accepted };
  }
}

function createClient(
  settings: ServerSettings,
  ports: SessionPorts & { readonly calls: OpenCalls },
  handshake: Handshake,
): Client {
  const { elicitation, sampling } = settings;
  const client = new Client(
    { name: 'agent-gateway', version: ports.transport.version },
    {
      capabilities: {
        roots: {},
        // Empty means forms. The defaults of a form are applied with its values.
        ...(elicitation.enabled ? { elicitation: { ...(strict.has(settings) ? {} : { form: {}, url: {} }) } } : {}),
        ...(sampling.enabled ? { sampling: {} } : {}),
      },
      // The list reader ends a listing, by its entries.
      listMaxPages: 0,
      // The session checks results: to the SDK, one that does not fit is a refusal, although the tool has run.
      jsonSchemaValidator: { getValidator: () => undefined as never },
      versionNegotiation: { mode: handshake === 'initialize' ? 'legacy' : { pin: statelessRevision } },
    },
  );
  client.setRequestHandler(
    'roots/list',
    () => rootsAnswer(settings.roots.map((root) => pathToFileURL(root).href)) as never,
  );
  if (elicitation.enabled) {
    client.setRequestHandler('elicitation/create', async ({ params }, { mcpReq }) => {
      const asking = ports.calls.asking();
      // The call has ended, so the answer would be useless and no person is asked.
      if (asking === undefined) return { action: 'cancel' };
      return resultOf(await ports.requests.elicit(params as JsonObject, mcpReq.signal, asking)) as never;
    });
  }
  if (sampling.enabled) {
    client.setRequestHandler('sampling/createMessage', async ({ params }, { mcpReq }) => {
      const asking = ports.calls.asking();
      if (asking === undefined)
        return resultOf({ kind: 'refused', reason: 'sampling refused: its call has ended' }) as never;
      return resultOf(await ports.requests.sample(params as JsonObject, mcpReq.signal, asking)) as never;
    });
  }
  return client;
}

/**
 * In the stateless era every result has a type, and a client MUST treat a result without one as complete (SEP-2322). One
 * that may be cached has a lifetime and a scope, and a client SHOULD take one without for stale (SEP-2549). The SDK refuses
 * both instead, so what is missing is set before the SDK sees it.
 */
const completeResults: Handler = {
  receive(message, extra, next) {
    if ('result' in message) {
      const { result } = message;
      result.resultType ??= 'complete';
      // A structure may be all that a tool returns, as over a handshake.
      if (result.structuredContent !== undefined) result.content ??= [];
      if (cacheable.some((key) => key in result)) {
        if (!Number.isSafeInteger(result.ttlMs) || Number(result.ttlMs) < 0) result.ttlMs = 0;
        if (result.cacheScope !== 'public') result.cacheScope = 'private';
      }
    }
    next(message, extra);
  },
};

/** A member that is `null` counts as absent, and a result that is `null` as empty; the SDK would refuse both. */
const readNulls: Handler = {
  receive(message, extra, next) {
    if ('result' in message) message.result = plainHandshake(withoutNulls((message.result ?? {}) as JsonObject));
    else if ('method' in message && isJsonObject(message.params)) message.params = withoutNulls(message.params);
    next(message, extra);
  },
};

/** The SDK would refuse a form whose way of writing differs from the protocol's, and no person would see it. */
const readForms: Handler = {
  receive(message, extra, next) {
    if ('result' in message) message.result = withPlainForms(message.result as JsonObject);
    else if ('method' in message && isJsonObject(message.params)) message.params = withPlainForm(message.params);
    next(message, extra);
  },
};

/**
 * A server that has accepted a handshake need not accept the notification that ends it: behind a proxy that closes its
 * connections, servers with the TypeScript SDK refuse every notification. Only a refusal that is about the session counts.
 */
async function takenNotice(answer: Response, hadSession: boolean): Promise<Response> {
  const message = await answer.text();
  const isAboutSession = isSessionExpiry({ status: answer.status, message }, hadSession);
  return isAboutSession ? new Response(message, answer) : new Response(null, { status: 202 });
}

/** The SDK's SSE transport reports a refusal without its challenge, which names the scope (RFC 6750 §3.1). */
function lackedScope(answer: Response): InsufficientScopeError | undefined {
  if (answer.status !== 403) return undefined;
  const { error, scope } = extractWWWAuthenticateParams(answer);
  if (error !== 'insufficient_scope') return undefined;
  return new InsufficientScopeError(scope === undefined ? {} : { requiredScope: scope });
}

/** The protocol has no better code for a refusal than "invalid request"; the reason is in the message. */
function resultOf(answer: RequestAnswer): JsonObject {
  if (answer.kind === 'refused') throw new ProtocolError(invalidRequest, answer.reason);
  return answer.result;
}

/**
 * The SDK takes any HTTP error on discovery for a server of the other era. The status is more precise: a 429, for
 * example, is retryable. Only 400 is what servers of the other era answer.
 */
function withAnswer(failure: ConnectFailure, { status, streamEnded }: LastAnswer): ConnectFailure {
  if (failure.kind !== 'rpc' && failure.kind !== 'notStateless') return failure;
  if (streamEnded) return { kind: 'network', message: streamEndedWords };
  if (failure.kind === 'rpc' || status === undefined || status <= 400) return failure;
  return { kind: 'http', status, message: '' };
}

interface LastAnswer {
  readonly status: number | undefined;
  readonly streamEnded: boolean;
}

/** How a child ended explains more than a broken pipe, and its output more than its silence. */
function withLastWords(failure: ConnectFailure, opened: OpenTransport | undefined): ConnectFailure {
  if (failure.kind === 'timeout' && opened !== undefined && opened.lastWords() !== '')
    return { ...failure, words: opened.lastWords() };
  const words = opened?.whyClosed();
  if (words === undefined || (failure.kind !== 'exited' && failure.kind !== 'network')) return failure;
  return { kind: 'exited', status: opened?.exitStatus() ?? null, words };
}

/**
 * Where a redirect led to, as the error is of that target, which got neither credentials nor the session, and how long the
 * server asks to wait.
 */
function withTarget(failure: ConnectFailure, opened: OpenTransport | undefined): ConnectFailure {
  if (failure.kind !== 'http' || opened === undefined) return failure;
  return { ...failure, ...defined({ ledTo: opened.ledTo(), retryAfter: opened.retryAfter() }) };
}

/** The session is unknown to the server: another of its instances may have opened it, or the server has just restarted. */
function withSession(failure: ConnectFailure, opened: OpenTransport | undefined): ConnectFailure {
  // Where a redirect leads, no session goes.
  if (failure.kind !== 'http' || failure.ledTo !== undefined) return failure;
  if (!isSessionExpiry(failure, opened?.hasSession() ?? false)) return failure;
  return { ...failure, sessionGone: true };
}
