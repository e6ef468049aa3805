/**
 * A live session with one connected server: lists, calls, pings, listens for changed lists, and closes. Reports facts
 * only; the chart of a call decides whether a lost call is repeated.
 * @see ERA-2, FLT-4, LIF-3, LIF-4 and SRV-3 in docs/specification.md
 */

import { type Client, SseError, type Tool } from '@modelcontextprotocol/client';
import { causeOf } from '../../machines/base/fault.ts';
import { defined, isJsonObject, type Json, type JsonObject } from '../../machines/base/json.ts';
import { isTooDeep, parseObject } from '../../machines/base/read-json.ts';
import type { Era } from '../../machines/mcp/era.ts';
import { boundInstructions } from '../../machines/mcp/instructions.ts';
import { type Probe, readProbeFailure } from '../../machines/mcp/lifetime.ts';
import { isOfferList, type ListName, listNames, type OfferMethod } from '../../machines/mcp/offers.ts';
import type { CachedDiscovery } from '../../machines/mcp/schema-cache.ts';
import type { ServerSettings } from '../../machines/mcp/server-settings.ts';
import type { Utility } from '../../machines/mcp/tool-name.ts';
import { untrustedWords } from '../../machines/mcp/untrusted-words.ts';
import type { Logger } from '../ports.ts';
import { deliverInTurn } from './adapt-transport.ts';
import { type CallOutcome, readCallError } from './call-outcome.ts';
import { ConnectError, readConnectError } from './connect-errors.ts';
import { cleanProgress, createDirectCalls, type Progress } from './direct-calls.ts';
import type { OpenCalls } from './open-calls.ts';
import { paceProgress } from './progress-pace.ts';
import { type CheckedList, createListReader } from './read-listing.ts';
import { createSchemaTime } from './schema-time.ts';
import type { StandingStream } from './standing-stream.ts';
import { subscribeToChanges } from './subscribe-changes.ts';
import type { OpenTransport } from './transports.ts';
import { askOffer, asToolResult, methodOf } from './utility-tools.ts';
import { resultChecks } from './validate-arguments.ts';

/** What a server offers, from its last listing. */
export interface Listing extends Omit<CachedDiscovery, 'fingerprint' | 'savedAtMs'> {
  /** The gateways that its tools come from; absent if they come from none. */
  readonly gateways?: readonly string[];
}

export interface SessionFacts {
  /** The session has ended and was not closed from here. Called once. */
  closed(why: string): void;
  /**
   * A listing or a ping found that the server no longer has the session, or any request that it serves none of this kind. A
   * call reports an expired session in its own outcome.
   */
  expired(): void;
  /** These lists of the server changed, or may have changed unnoticed. */
  listChanged(lists: readonly ListName[]): void;
  /** A log message of the server. */
  logged(line: string): void;
}

export interface CallOptions {
  /** The gateway's id of the call. */
  readonly id?: string | undefined;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /** The trace that the call belongs to, sent to the server. */
  readonly traceparent?: string | undefined;
}

/** Called once with the outcome of a call, possibly before the call function returns. */
export type Settle = (outcome: CallOutcome) => void;

export interface Session {
  readonly era: Era;
  list(signal: AbortSignal): Promise<Listing>;
  /** Returns a function that cancels the call, also on the wire. */
  call(tool: string, args: JsonObject, options: CallOptions, settle: Settle): () => void;
  callUtility(utility: Utility, args: JsonObject, options: CallOptions, settle: Settle): () => void;
  /** Sends the request behind a utility; the outcome is in the protocol's form. */
  ask(method: OfferMethod, args: JsonObject, options: CallOptions, settle: Settle): () => void;
  /** Undefined if the server is alive, even if it has dropped the session; otherwise why it counts as dead. */
  ping(): Promise<string | undefined>;
  /**
   * Resolves when nothing of the session is left, including its child's process group. Open calls fail with the reason.
   */
  close(why?: string): Promise<void>;
  /** Closes once no call is in flight: a failure of one call over HTTP or SSE need not affect the others. */
  retire(): Promise<void>;
}

interface SessionParts {
  readonly client: Client;
  readonly opened: OpenTransport;
  /** The stream of the server's unsolicited messages, over HTTP. */
  readonly stream: StandingStream | undefined;
  readonly settings: ServerSettings;
  readonly era: Era;
  readonly calls: OpenCalls;
  /** Whether a refusal of the server has named resource metadata. */
  readonly namesOauth: () => boolean;
  /** The name of this gateway in listings. */
  readonly gateway: string | undefined;
  readonly log: Logger;
}

const pingTimeoutMs = 10_000;
/** The longest delay of a timer. */
const maxTimeoutMs = 2 ** 31 - 1;
/** Limit of a log message of the server. */
const maxLineLength = 4_000;
/** Limit of the reason why an answer is unusable, which quotes it. */
const maxReasonLength = 500;
const nothingToCancel = (): void => {};

export function createSession(
  { client, opened, stream, settings, era, calls, namesOauth, gateway, log }: SessionParts,
  facts: SessionFacts,
): Session {
  const ended = new AbortController();
  let probe: Probe = 'ping';
  let inFlight = 0;
  /** Number of open listings of tools. */
  let listings = 0;
  let quiet: (() => void) | undefined;
  /** Why it was closed from here. */
  let closing: string | undefined;
  /** Why its event stream broke. */
  let broken: string | undefined;
  /** The output schemas of the tools that have one; empty until the first listing. */
  let outputs: ReadonlyMap<string, JsonObject> = new Map();

  const end = (why: string): void => {
    if (ended.signal.aborted) return;
    ended.abort();
    facts.closed(opened.whyClosed() ?? why);
  };
  client.onclose = () => {
    end('the connection was closed');
    direct?.closed();
  };
  client.onerror = (error) => {
    // The SDK's SSE transport reconnects silently and never reports that the session is gone. Its other errors are about one
    // request or one event. It has no reason for a stream that ends in order.
    if (error instanceof SseError) {
      broken = error.message
        .replace(/^SSE error: undefined$/, 'its event stream has ended')
        .replace(/^SSE error: TypeError: terminated: /, 'its event stream broke: ')
        .replace(/^SSE error: /, '');
      end(broken);
    } else
      log.log('debug', `mcp server "${settings.name}": ${untrustedWords(error.message)}`, { server: settings.name });
  };
  const reader = createListReader(opened, era === 'legacy', gateway);
  /** Requests a list, and logs what is left out. */
  async function listed<Value>(...asked: Parameters<typeof reader.ask<Value>>): Promise<CheckedList<Value>> {
    const given = await reader.ask(...asked);
    for (const words of given.leftOut) {
      const text = `mcp server "${settings.name}": ${words}; only its author can change that`;
      log.warnOnce(`mcp/malformed/${text}`, text, { server: settings.name });
    }
    return given;
  }
  // The stateless era needs an envelope for each request, mirrored headers and further rounds, which the SDK's client
  // makes.
  const checks = resultChecks(createSchemaTime());
  const direct = era === 'legacy' ? createDirectCalls(opened, settings.timeoutMs, calls) : undefined;
  // stdio and SSE have one stream for all answers.
  const byAnswer = settings.transport.kind !== 'http' && era === 'stateless';
  if (settings.transport.kind === 'http') calls.tieByStream();
  opened.putBefore([direct ?? {}, reader, byAnswer ? calls.tieByAnswer() : {}, deliverInTurn(opened.transport)]);
  listenToServer({ client, opened, stream, settings, era, calls, log }, facts, ended.signal);

  /** Counts a call as in flight; the returned function ends it with its outcome. */
  function begun(settle: Settle): Settle {
    inFlight += 1;
    return (outcome) => {
      inFlight -= 1;
      if (inFlight === 0) quiet?.();
      settle(outcome);
    };
  }

  function outcomeOfFailure(thrown: unknown): CallOutcome {
    const outcome = readCallError(thrown, {
      timeoutMs: settings.timeoutMs,
      hadSession: opened.hasSession(),
      exitStatus: opened.exitStatus(),
      whyClosed: whyClosed(),
      namesOauth: namesOauth(),
    });
    // Behind a pipe or an SSE stream, one release answers to its end.
    if (outcome.kind === 'refused' && outcome.isOutdated && settings.transport.kind === 'http') facts.expired();
    return outcome.kind === 'lost' && closing !== undefined ? { ...outcome, closedHere: true } : outcome;
  }

  /** The outcome of a call that was not sent because the session has ended. */
  function unsent(): CallOutcome {
    const outcome = { kind: 'lost', dispatched: false, why: whyClosed() ?? 'not connected' } as const;
    return closing === undefined ? outcome : { ...outcome, closedHere: true };
  }

  /**
   * Sends through the SDK's client. Its timeout is per request, but a call may take several rounds with a person's answer
   * in between, which the client awaits even after an abort. So the end of the call is reported here.
   */
  function throughClient(
    send: (options: ReturnType<typeof requestOptions>) => Promise<Json>,
    given: CallOptions,
    settleGiven: Settle,
  ): () => void {
    if (ended.signal.aborted) {
      settleGiven(unsent());
      return nothingToCancel;
    }
    const { options, settle } = paced(given, settleGiven);
    const done = begun(settle);
    const stop = new AbortController();
    let isOver = false;
    const finish = (outcome: CallOutcome): void => {
      if (isOver) return;
      isOver = true;
      call.end();
      done(outcome);
    };
    const cut = (outcome: CallOutcome): void => {
      if (!isOver) stop.abort();
      finish(outcome);
    };
    const { timeoutMs } = settings;
    const late = (): void => cut({ kind: 'timedOut', afterMs: timeoutMs });
    const call = calls.begin(options.id, timeoutMs, late, stop.signal);
    call
      .run(() => send(requestOptions(stop.signal, options)))
      .then(
        (result) => finish({ kind: 'result', result }),
        (thrown) => finish(outcomeOfFailure(thrown)),
      );
    return () => cut({ kind: 'cancelled' });
  }

  async function offered(
    method: OfferMethod,
    args: JsonObject,
    request: ReturnType<typeof requestOptions>,
  ): Promise<JsonObject> {
    if (!isOfferList(method)) return askOffer(client, method, args, request);
    const { answer } = await listed(method, () => askOffer(client, method, args, request));
    return answer;
  }

  function whyClosed(): string | undefined {
    return closing ?? opened.whyClosed() ?? broken;
  }

  async function close(why?: string): Promise<void> {
    // A session that ended by itself has its own reason.
    if (!ended.signal.aborted) closing = why;
    ended.abort();
    await opened.close().catch((thrown: unknown) => {
      log.log('debug', `mcp server "${settings.name}": closing: ${causeOf(thrown)}`);
    });
  }

  const requestOptions = (signal: AbortSignal, { onProgress, traceparent }: CallOptions) => ({
    signal,
    // Over HTTP, proxies before the server read the trace from this header.
    ...(traceparent === undefined ? {} : { headers: { traceparent } }),
    // The call's own clock stops while a person is asked; the client's timeout would not.
    timeout: maxTimeoutMs,
    ...(onProgress === undefined ? {} : { onprogress: (progress: Progress) => onProgress(cleanProgress(progress)) }),
  });

  return {
    era,
    async list(signal) {
      const capabilities = (client.getServerCapabilities() ?? {}) as JsonObject;
      const instructions = client.getInstructions();
      const options = { signal, timeout: settings.connectTimeoutMs, cacheMode: 'refresh' as const };
      if (capabilities.tools !== undefined) listings += 1;
      const { answer, leftOut, leftOutNames, gateways } =
        capabilities.tools === undefined
          ? { answer: { tools: [] }, leftOut: [], leftOutNames: undefined, gateways: [] }
          : await listed('tools/list', () => client.listTools(undefined, options))
              .catch((thrown: unknown) => {
                if (thrown instanceof ConnectError && thrown.failure.kind === 'ownTools') end(thrown.message);
                else if (outcomeOfFailure(thrown).kind === 'expired') facts.expired();
                throw thrown;
              })
              .finally(() => {
                listings -= 1;
              });
      const { ttlMs } = answer as { readonly ttlMs?: unknown };
      const tools = answer.tools as readonly Tool[];
      outputs = new Map(
        tools.flatMap(({ name, outputSchema }) =>
          outputSchema === undefined ? [] : [[name, outputSchema as JsonObject] as const],
        ),
      );
      return {
        tools: tools as readonly JsonObject[],
        ...(leftOut.length === 0 ? {} : defined({ leftOut, leftOutNames })),
        capabilities,
        ...(instructions === undefined ? {} : { instructions: boundInstructions(instructions) }),
        ...(gateways.length === 0 ? {} : { gateways }),
        ...(typeof ttlMs === 'number' && ttlMs > 0 ? { ttlMs } : {}),
      };
    },

    call(tool, args, given, settleGiven) {
      const held = (result: JsonObject): CallOutcome => heldAgainst(outputs.get(tool), tool, result, checks);
      if (direct === undefined) {
        const trace = given.traceparent === undefined ? {} : { _meta: { traceparent: given.traceparent } };
        const params = { name: tool, arguments: args, ...trace };
        return throughClient(
          async (request) => (await client.callTool(params, request)) as Json,
          given,
          (outcome) => settleGiven(outcome.kind === 'result' ? held(outcome.result as JsonObject) : outcome),
        );
      }
      if (ended.signal.aborted) {
        settleGiven(unsent());
        return nothingToCancel;
      }
      const { options, settle } = paced(given, settleGiven);
      const { id, onProgress, traceparent } = options;
      const done = begun(settle);
      return direct.call({ tool, args, id, onProgress, traceparent }, (answer) => {
        if (answer.kind === 'result') done(held(answer.result));
        else done(answer.kind === 'failed' ? outcomeOfFailure(answer.thrown) : answer);
      });
    },

    callUtility: (utility, args, options, settle) =>
      throughClient(
        async (request) => asToolResult(utility, await offered(methodOf[utility], args, request)),
        options,
        settle,
      ),

    ask: (method, args, options, settle) => throughClient((request) => offered(method, args, request), options, settle),

    async ping() {
      const options = { timeout: pingTimeoutMs, signal: ended.signal };
      try {
        // An open listing has its own timeout, and its answer proves the same.
        if (probe === 'tools/list' && listings > 0) return undefined;
        // One page, and never from the client's cache.
        const page = () => client.request({ method: 'tools/list', params: {} }, options);
        if (probe === 'tools/list') await reader.ask('tools/list', page);
        else if (era === 'stateless') await client.discover(options);
        else await client.ping(options);
        return undefined;
      } catch (thrown) {
        if (ended.signal.aborted) return undefined;
        const failure = readConnectError(thrown, { timeoutMs: pingTimeoutMs, exitStatus: opened.exitStatus() });
        const reading = readProbeFailure(probe, failure, outcomeOfFailure(thrown).kind === 'expired');
        if (reading.kind === 'dead') return `no answer to a liveness ping: ${untrustedWords(causeOf(thrown))}`;
        if (reading.kind === 'alive') probe = reading.next;
        else facts.expired();
        return undefined;
      }
    },

    close,
    async retire() {
      if (inFlight > 0 && settings.transport.kind !== 'stdio' && !ended.signal.aborted) {
        await new Promise<void>((resolve) => {
          quiet = resolve;
          ended.signal.addEventListener('abort', () => resolve(), { once: true });
        });
      }
      await close();
    },
  };
}

/** Reports the server's log messages and changed lists until the signal aborts. */
function listenToServer(
  { client, opened, stream, settings, era, calls, log }: Omit<SessionParts, 'namesOauth' | 'gateway'>,
  facts: SessionFacts,
  signal: AbortSignal,
): void {
  for (const list of listNames) {
    client.setNotificationHandler(`notifications/${list}/list_changed`, () => facts.listChanged([list]));
  }
  client.setNotificationHandler('notifications/message', ({ params }) => {
    const text = typeof params.data === 'string' ? params.data : JSON.stringify(params.data);
    const from = params.logger === undefined ? '' : ` ${params.logger}:`;
    // On one line, so that no part of it looks like a log line of its own.
    facts.logged(`[${params.level}] ${untrustedWords(`${from} ${text}`, maxLineLength)}`);
  });
  const { openStream } = opened;
  const missed = (): void => facts.listChanged(listNames);
  if (era === 'stateless') {
    const refused = (thrown: unknown): void =>
      log.log('debug', `mcp server "${settings.name}": cannot listen for changes: ${causeOf(thrown)}`);
    void subscribeToChanges(client, { missed, refused, signal });
  } else if (openStream !== undefined) {
    // The stream of a call may have ended in the context of that call.
    stream?.keep({ reopen: () => calls.outside(openStream), missed, signal });
  }
}

/** Checks a result against the tool's output schema. An error result is not checked. */
function heldAgainst(
  schema: JsonObject | undefined,
  tool: string,
  result: JsonObject,
  checks: ReturnType<typeof resultChecks>,
): CallOutcome {
  if (schema === undefined || result.isError === true) return { kind: 'result', result };
  const unusable = (why: string): CallOutcome => ({ kind: 'unusable', why: untrustedWords(why, maxReasonLength) });
  const structuredContent = result.structuredContent ?? structureInText(result.content);
  if (structuredContent === undefined)
    return unusable(`${tool} has an output schema but did not return structured content`);
  const verdict = checks.getValidator(schema)(structuredContent);
  if (verdict.valid) return { kind: 'result', result: { ...result, structuredContent } };
  return unusable(`its structured content does not match the tool's output schema: ${verdict.errorMessage}`);
}

/** The bridge of Xcode, among others, returns the structured content only as JSON in its one text. */
function structureInText(content: Json | undefined): JsonObject | undefined {
  const [block, ...others] = Array.isArray(content) ? (content as readonly Json[]) : [];
  const text = others.length === 0 && isJsonObject(block) ? block.text : undefined;
  return typeof text !== 'string' || isTooDeep(text) ? undefined : parseObject(text);
}

/** Paces the progress of a call; waiting progress is forwarded before the outcome. */
function paced(options: CallOptions, settle: Settle): { readonly options: CallOptions; readonly settle: Settle } {
  if (options.onProgress === undefined) return { options, settle };
  const { take, end } = paceProgress(options.onProgress);
  return {
    options: { ...options, onProgress: take },
    settle: (outcome) => {
      end();
      settle(outcome);
    },
  };
}
