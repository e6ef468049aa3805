/**
 * A live session with one server: what can be asked of it once it is connected. Lists, calls, pings, listens for changed
 * lists, and closes. Tells facts and decides nothing: whether a lost call goes again is the call chart's business.
 * @see ERA-2, FLT-4, LIF-3, LIF-4 and SRV-3 in docs/specification.md
 */

import { type Client, SseError, type Tool } from '@modelcontextprotocol/client';
import { causeOf } from '../../machines/base/fault.ts';
import type { Json, JsonObject } from '../../machines/base/json.ts';
import type { Era } from '../../machines/mcp/era.ts';
import { type Probe, readProbeFailure } from '../../machines/mcp/lifetime.ts';
import { isOfferList, type ListName, listNames, type Offered, type OfferMethod } from '../../machines/mcp/offers.ts';
import type { ServerSettings } from '../../machines/mcp/server-settings.ts';
import { strangersWords } from '../../machines/mcp/strangers-words.ts';
import type { Utility } from '../../machines/mcp/tool-name.ts';
import type { Logger } from '../ports.ts';
import { deliverInTurn } from './adapt-transport.ts';
import { type CallOutcome, readCallError } from './call-outcome.ts';
import { readConnectError } from './connect-errors.ts';
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

/** What a server offers, as it was listed. */
export interface Listing {
  /** Every tool that is admitted; its texts and schemas without invisible characters. */
  readonly tools: readonly JsonObject[];
  /** Which of its tools are left out, and why; absent if none is. */
  readonly leftOut?: readonly string[];
  readonly capabilities: JsonObject;
  readonly instructions?: string;
  /** What clients were last answered of its resources and prompts, in a listing that is remembered. */
  readonly offered?: Offered;
  /** How long the server lets the list hold. */
  readonly ttlMs?: number;
}

export interface SessionFacts {
  /** The session is over and was not closed from here. Said once. */
  closed(why: string): void;
  /** A listing found that the server has forgotten the session; a call that does says so itself. */
  expired(): void;
  /** These lists of the server changed, or may have changed unheard. */
  listChanged(lists: readonly ListName[]): void;
  /** A log message of the server. */
  logged(line: string): void;
}

export interface CallOptions {
  /** By which the gateway knows the call. */
  readonly id?: string | undefined;
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /** The trace that the call belongs to, which the server is told. */
  readonly traceparent?: string | undefined;
}

/** Hears once what came of a call, maybe before it has begun. */
export type Settle = (outcome: CallOutcome) => void;

export interface Session {
  readonly era: Era;
  list(signal: AbortSignal): Promise<Listing>;
  /** Returns what cancels the call, on the wire too. */
  call(tool: string, args: JsonObject, options: CallOptions, settle: Settle): () => void;
  callUtility(utility: Utility, args: JsonObject, options: CallOptions, settle: Settle): () => void;
  /** The same for the request that a utility makes, answered as the protocol answers it. */
  ask(method: OfferMethod, args: JsonObject, options: CallOptions, settle: Settle): () => void;
  /** Undefined where the server lives; otherwise why it is taken for dead. */
  ping(): Promise<string | undefined>;
  /** Resolves when nothing of the session is left, its child's group included. Calls under way hear why. */
  close(why?: string): Promise<void>;
  /** Closes once no call is in flight any more: what broke one call over HTTP need not have broken the others. */
  retire(): Promise<void>;
}

export interface SessionParts {
  readonly client: Client;
  readonly opened: OpenTransport;
  /** Where the server may speak unasked, over HTTP. */
  readonly stream: StandingStream | undefined;
  readonly settings: ServerSettings;
  readonly era: Era;
  readonly calls: OpenCalls;
  readonly log: Logger;
}

const pingTimeoutMs = 10_000;
/** The longest that a timer can wait. */
const longestTimeoutMs = 2 ** 31 - 1;
/** Of a server's log messages. */
const longestLine = 4_000;
const nothingToCancel = (): void => {};
/** The words of the SDK's event stream when the connection under it broke. */
const brokenStream = /terminated|fetch failed|ECONNRE|socket|other side closed/i;

export function createSession(
  { client, opened, stream, settings, era, calls, log }: SessionParts,
  facts: SessionFacts,
): Session {
  const ended = new AbortController();
  let probe: Probe = 'ping';
  let inFlight = 0;
  /** The listings of tools under way. */
  let listings = 0;
  let quiet: (() => void) | undefined;
  /** Why it was closed from here. */
  let closing: string | undefined;
  /** What the results of tools are held against, where they say so; unknown until the first listing. */
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
    // The SDK's SSE transport reconnects in silence and never says that the session behind it is gone.
    const isLost = settings.transport.kind === 'sse' && (error instanceof SseError || brokenStream.test(error.message));
    if (isLost) end(error.message);
    else log.log('debug', `mcp server "${settings.name}": ${error.message}`, { server: settings.name });
  };
  deliverInTurn(opened.transport);
  // What is sent to the standard streams of a command is answered on one stream, and so it is over SSE.
  if (settings.transport.kind === 'http') calls.tieByStream();
  else if (era === 'stateless') calls.tieByAnswer(opened.transport);
  const reader = createListReader(opened, era === 'legacy');
  /** Asks for a list, and logs what of it is left out. */
  async function listed<Value>(...asked: Parameters<typeof reader.ask<Value>>): Promise<CheckedList<Value>> {
    const given = await reader.ask(...asked);
    for (const words of given.leftOut) {
      const text = `mcp server "${settings.name}": ${words}; report it to its author`;
      log.warnOnce(`mcp/malformed/${text}`, text, { server: settings.name });
    }
    return given;
  }
  // The stateless era wants an envelope about each request, mirrored headers and more rounds, and the client makes those.
  const checks = resultChecks(createSchemaTime());
  const direct = era === 'legacy' ? createDirectCalls(opened.transport, settings.timeoutMs, calls) : undefined;
  opened.meterFirst();
  for (const list of listNames) {
    client.setNotificationHandler(`notifications/${list}/list_changed`, () => facts.listChanged([list]));
  }
  client.setNotificationHandler('notifications/message', ({ params }) => {
    const text = typeof params.data === 'string' ? params.data : JSON.stringify(params.data);
    const from = params.logger === undefined ? '' : ` ${params.logger}:`;
    // One line, so that nobody takes a part of it for a line of its own.
    facts.logged(`[${params.level}] ${strangersWords(`${from} ${text}`, longestLine)}`);
  });
  const { openStream } = opened;
  const missed = (): void => facts.listChanged(listNames);
  if (era === 'stateless') {
    const refused = (thrown: unknown): void =>
      log.log('debug', `mcp server "${settings.name}": cannot listen for changes: ${causeOf(thrown)}`);
    void subscribeToChanges(client, { missed, refused, signal: ended.signal });
  } else if (openStream !== undefined) {
    // A stream of a call may have ended in the context of that call.
    stream?.keep({ reopen: () => calls.outside(openStream), missed, signal: ended.signal });
  }

  /** Counts a call in; the returned function tells how it ended. */
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
      hadSession: hasSessionId(opened),
      exitStatus: opened.exitStatus(),
      whyClosed: whyClosed(),
    });
    return outcome.kind === 'lost' && closing !== undefined ? { ...outcome, closedHere: true } : outcome;
  }

  /** What was never sent, because there is no session any more. */
  function unsent(): CallOutcome {
    const outcome = { kind: 'lost', dispatched: false, why: whyClosed() ?? 'not connected' } as const;
    return closing === undefined ? outcome : { ...outcome, closedHere: true };
  }

  /**
   * Through the SDK's client. Its time is of one request, and a call may take several rounds with a person's answer between
   * them, for which it waits whatever is aborted: the call's end is told from here.
   */
  function throughClient(
    send: (options: ReturnType<typeof requestOptions>) => Promise<Json>,
    options: CallOptions,
    settle: Settle,
  ): () => void {
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
    const call = calls.begin(options.id, timeoutMs, () => cut({ kind: 'timedOut', afterMs: timeoutMs }));
    call
      .run(() => send(requestOptions(stop.signal, options)))
      .then(
        (result) => finish({ kind: 'result', result }),
        (thrown) => finish(outcomeOfFailure(thrown)),
      );
    return () => cut({ kind: 'cancelled' });
  }

  function askFor(...[send, given, tell]: Parameters<typeof throughClient>): () => void {
    if (ended.signal.aborted) {
      tell(unsent());
      return nothingToCancel;
    }
    const { options, settle } = paced(given, tell);
    return throughClient(send, options, settle);
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
    return closing ?? opened.whyClosed();
  }

  async function close(why?: string): Promise<void> {
    // A session that had ended by itself has a reason of its own.
    if (!ended.signal.aborted) closing = why;
    ended.abort();
    await opened.close().catch((thrown: unknown) => {
      log.log('debug', `mcp server "${settings.name}": closing: ${causeOf(thrown)}`);
    });
  }

  const requestOptions = (signal: AbortSignal, { onProgress, traceparent }: CallOptions) => ({
    signal,
    // Over HTTP a trace is read from the header by whatever stands before the server.
    ...(traceparent === undefined ? {} : { headers: { traceparent } }),
    // The call's own limit stands still while a person is asked; the client's would not.
    timeout: longestTimeoutMs,
    ...(onProgress === undefined ? {} : { onprogress: (told: Progress) => onProgress(cleanProgress(told)) }),
  });

  return {
    era,
    async list(signal) {
      const capabilities = (client.getServerCapabilities() ?? {}) as JsonObject;
      const instructions = client.getInstructions();
      const options = { signal, timeout: settings.connectTimeoutMs, cacheMode: 'refresh' as const };
      if (capabilities.tools !== undefined) listings += 1;
      const { answer, leftOut } =
        capabilities.tools === undefined
          ? { answer: { tools: [] }, leftOut: [] }
          : await listed('tools/list', () => client.listTools(undefined, options))
              .catch((thrown: unknown) => {
                if (outcomeOfFailure(thrown).kind === 'expired') facts.expired();
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
        ...(leftOut.length === 0 ? {} : { leftOut }),
        capabilities,
        ...(instructions === undefined ? {} : { instructions }),
        ...(typeof ttlMs === 'number' && ttlMs > 0 ? { ttlMs } : {}),
      };
    },

    call(tool, args, given, tell) {
      if (ended.signal.aborted) {
        tell(unsent());
        return nothingToCancel;
      }
      const { options, settle } = paced(given, tell);
      const { id, onProgress, traceparent } = options;
      if (direct === undefined) {
        const trace = traceparent === undefined ? {} : { _meta: { traceparent } };
        const params = { name: tool, arguments: args, ...trace };
        return throughClient(async (request) => (await client.callTool(params, request)) as Json, options, settle);
      }
      const done = begun(settle);
      return direct.call({ tool, args, id, onProgress, traceparent }, (answer) => {
        if (answer.kind === 'result') done(heldAgainst(outputs.get(tool), tool, answer.result, checks));
        else done(answer.kind === 'failed' ? outcomeOfFailure(answer.thrown) : answer);
      });
    },

    callUtility: (utility, args, options, settle) =>
      askFor(
        async (request) => asToolResult(utility, await offered(methodOf[utility], args, request)),
        options,
        settle,
      ),

    ask: (method, args, options, settle) => askFor((request) => offered(method, args, request), options, settle),

    async ping() {
      const options = { timeout: pingTimeoutMs, signal: ended.signal };
      try {
        // A listing under way has a limit of its own, and its answer is as good.
        if (probe === 'tools/list' && listings > 0) return undefined;
        // One page, and never what the client remembers of the list.
        const page = () => client.request({ method: 'tools/list', params: {} }, options);
        if (probe === 'tools/list') await reader.ask('tools/list', page);
        else if (era === 'stateless') await client.discover(options);
        else await client.ping(options);
        return undefined;
      } catch (thrown) {
        if (ended.signal.aborted) return undefined;
        const failure = readConnectError(thrown, { timeoutMs: pingTimeoutMs, exitStatus: opened.exitStatus() });
        const reading = readProbeFailure(probe, failure);
        if (reading.kind === 'dead') return `no answer to a liveness ping: ${strangersWords(causeOf(thrown))}`;
        probe = reading.next;
        return undefined;
      }
    },

    close,
    async retire() {
      if (inFlight > 0 && settings.transport.kind === 'http') {
        await new Promise<void>((resolve) => {
          quiet = resolve;
          ended.signal.addEventListener('abort', () => resolve(), { once: true });
        });
      }
      await close();
    },
  };
}

/** A tool that describes its result is held to it, as the SDK's client does; its own error is none. */
function heldAgainst(
  schema: JsonObject | undefined,
  tool: string,
  result: JsonObject,
  checks: ReturnType<typeof resultChecks>,
): CallOutcome {
  const { structuredContent, isError } = result;
  if (schema === undefined || isError === true) return { kind: 'result', result };
  if (structuredContent === undefined) {
    return { kind: 'unusable', why: `${tool} has an output schema but did not return structured content` };
  }
  const verdict = checks.getValidator(schema)(structuredContent);
  if (verdict.valid) return { kind: 'result', result };
  return {
    kind: 'unusable',
    why: `its structured content does not match the tool's output schema: ${verdict.errorMessage}`,
  };
}

/** Paces the progress of a call; what waits of it comes before its outcome. */
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

function hasSessionId({ transport }: OpenTransport): boolean {
  return transport.sessionId !== undefined;
}
