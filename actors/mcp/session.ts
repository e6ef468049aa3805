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
import type { ServerSettings } from '../../machines/mcp/server-settings.ts';
import { strangersWords } from '../../machines/mcp/strangers-words.ts';
import { cleanTool } from '../../machines/mcp/strip-tags.ts';
import type { Utility } from '../../machines/mcp/tool-name.ts';
import type { Logger } from '../ports.ts';
import { type CallOutcome, readCallError } from './call-outcome.ts';
import { readConnectError } from './connect-errors.ts';
import { cleanProgress, createDirectCalls, type Progress } from './direct-calls.ts';
import { tellInTurn } from './mend-transport.ts';
import type { OpenTransport } from './transports.ts';
import { callUtility } from './utility-tools.ts';
import { resultChecks } from './validate-arguments.ts';

/** What a server offers, as it was listed. */
export interface Listing {
  /** Every tool; its texts and schemas without invisible characters. */
  readonly tools: readonly JsonObject[];
  readonly capabilities: JsonObject;
  readonly instructions?: string;
  /** How long the server lets the list hold. */
  readonly ttlMs?: number;
}

export interface SessionFacts {
  /** The session is over and was not closed from here. Said once. */
  closed(why: string): void;
  /** The server's lists changed. */
  listChanged(): void;
  /** A log message of the server. */
  logged(line: string): void;
}

export interface CallOptions {
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
  /** Undefined where the server lives; otherwise why it is taken for dead. */
  ping(): Promise<string | undefined>;
  /** Resolves when nothing of the session is left, its child's group included. */
  close(): Promise<void>;
  /** Closes once no call is in flight any more: what broke one call over HTTP need not have broken the others. */
  retire(): Promise<void>;
}

export interface SessionParts {
  readonly client: Client;
  readonly opened: OpenTransport;
  readonly settings: ServerSettings;
  readonly era: Era;
  readonly log: Logger;
}

const pingTimeoutMs = 10_000;
/** A listening stream that the server ends is opened again after so long, twice as long each time. */
const relistenMs = 1_000;
const longestRelistenMs = 60_000;
/** Of a server's log messages. */
const longestLine = 4_000;
const nothingToCancel = (): void => {};
/** The words of the SDK's event stream when the connection under it broke. */
const brokenStream = /terminated|fetch failed|ECONNRE|socket|other side closed/i;

export function createSession({ client, opened, settings, era, log }: SessionParts, facts: SessionFacts): Session {
  const ended = new AbortController();
  let probe: Probe = 'ping';
  let inFlight = 0;
  let quiet: (() => void) | undefined;
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
  tellInTurn(opened.transport);
  // The stateless era wants an envelope about each request, mirrored headers and more rounds, and the client makes those.
  const direct = era === 'legacy' ? createDirectCalls(opened.transport, settings.timeoutMs) : undefined;
  for (const list of ['tools', 'resources', 'prompts'] as const) {
    client.setNotificationHandler(`notifications/${list}/list_changed`, () => facts.listChanged());
  }
  client.setNotificationHandler('notifications/message', ({ params }) => {
    const text = typeof params.data === 'string' ? params.data : JSON.stringify(params.data);
    const from = params.logger === undefined ? '' : ` ${params.logger}:`;
    // One line, so that nobody takes a part of it for a line of its own.
    facts.logged(`[${params.level}] ${strangersWords(`${from} ${text}`, longestLine)}`);
  });
  if (era === 'stateless') void listen();

  /** The stateless era says nothing unasked: changes come on a stream, which is opened again when the server ends it. */
  async function listen(): Promise<void> {
    const changes = client.getServerCapabilities() ?? {};
    const filter = {
      ...(changes.tools?.listChanged === true ? { toolsListChanged: true } : {}),
      ...(changes.resources?.listChanged === true ? { resourcesListChanged: true } : {}),
      ...(changes.prompts?.listChanged === true ? { promptsListChanged: true } : {}),
    };
    if (Object.keys(filter).length === 0) return;
    for (let waitMs = relistenMs; !ended.signal.aborted; waitMs = Math.min(waitMs * 2, longestRelistenMs)) {
      try {
        const subscription = await client.listen(filter, { signal: ended.signal });
        const why = await subscription.closed;
        if (why === 'local' || ended.signal.aborted) return;
        waitMs = relistenMs;
        // What changed while nobody listened is not told again.
        facts.listChanged();
      } catch (thrown) {
        log.log('debug', `mcp server "${settings.name}": cannot listen for changes: ${causeOf(thrown)}`);
      }
      await aborted(ended.signal, waitMs);
    }
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
    return readCallError(thrown, {
      timeoutMs: settings.timeoutMs,
      hadSession: hasSessionId(opened),
      exitStatus: opened.exitStatus(),
      whyClosed: opened.whyClosed(),
    });
  }

  /** What was never sent, because there is no session any more. */
  function unsent(): CallOutcome {
    return { kind: 'lost', dispatched: false, why: opened.whyClosed() ?? 'not connected' };
  }

  /** Through the SDK's client, with its own cancelling and its own time. */
  function throughClient(
    send: (options: ReturnType<typeof requestOptions>) => Promise<Json>,
    options: CallOptions,
    settle: Settle,
  ): () => void {
    const done = begun(settle);
    const stop = new AbortController();
    send(requestOptions(stop.signal, options)).then(
      (result) => done({ kind: 'result', result }),
      (thrown) => done(stop.signal.aborted ? { kind: 'cancelled' } : outcomeOfFailure(thrown)),
    );
    return () => stop.abort();
  }

  async function close(): Promise<void> {
    ended.abort();
    await opened.close().catch((thrown: unknown) => {
      log.log('debug', `mcp server "${settings.name}": closing: ${causeOf(thrown)}`);
    });
  }

  const requestOptions = (signal: AbortSignal, { onProgress, traceparent }: CallOptions) => ({
    signal,
    // Over HTTP a trace is read from the header by whatever stands before the server.
    ...(traceparent === undefined ? {} : { headers: { traceparent } }),
    timeout: settings.timeoutMs,
    ...(onProgress === undefined ? {} : { onprogress: (told: Progress) => onProgress(cleanProgress(told)) }),
  });

  return {
    era,
    async list(signal) {
      const capabilities = (client.getServerCapabilities() ?? {}) as JsonObject;
      const instructions = client.getInstructions();
      const options = { signal, timeout: settings.connectTimeoutMs, cacheMode: 'refresh' as const };
      const listed = capabilities.tools === undefined ? { tools: [] } : await client.listTools(undefined, options);
      const { ttlMs } = listed as { readonly ttlMs?: unknown };
      outputs = new Map(
        (listed.tools as readonly Tool[]).flatMap(({ name, outputSchema }) =>
          outputSchema === undefined ? [] : [[name, outputSchema as JsonObject] as const],
        ),
      );
      return {
        // On the wire the name must stay as the server spells it; it is sanitised where it is registered.
        tools: (listed.tools as readonly Tool[]).map((tool) => ({
          ...cleanTool(tool as unknown as JsonObject),
          name: tool.name,
        })),
        capabilities,
        ...(instructions === undefined ? {} : { instructions }),
        ...(typeof ttlMs === 'number' && ttlMs > 0 ? { ttlMs } : {}),
      };
    },

    call(tool, args, options, settle) {
      if (ended.signal.aborted) {
        settle(unsent());
        return nothingToCancel;
      }
      const { onProgress, traceparent } = options;
      if (direct === undefined) {
        const trace = traceparent === undefined ? {} : { _meta: { traceparent } };
        const params = { name: tool, arguments: args, ...trace };
        return throughClient(async (request) => (await client.callTool(params, request)) as Json, options, settle);
      }
      const done = begun(settle);
      return direct.call({ tool, args, onProgress, traceparent }, (answer) => {
        if (answer.kind === 'result') done(heldAgainst(outputs.get(tool), tool, answer.result));
        else done(answer.kind === 'failed' ? outcomeOfFailure(answer.thrown) : answer);
      });
    },

    callUtility(utility, args, options, settle) {
      if (ended.signal.aborted) {
        settle(unsent());
        return nothingToCancel;
      }
      return throughClient((request) => callUtility(client, utility, args, request), options, settle);
    },

    async ping() {
      const options = { timeout: pingTimeoutMs, signal: ended.signal };
      try {
        if (probe === 'tools/list') await client.listTools({}, options);
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
function heldAgainst(schema: JsonObject | undefined, tool: string, result: JsonObject): CallOutcome {
  const { structuredContent, isError } = result;
  if (schema === undefined || isError === true) return { kind: 'result', result };
  if (structuredContent === undefined) {
    return { kind: 'refused', message: `${tool} has an output schema but did not return structured content` };
  }
  const verdict = resultChecks.getValidator(schema)(structuredContent);
  if (verdict.valid) return { kind: 'result', result };
  return {
    kind: 'refused',
    message: `its structured content does not match the tool's output schema: ${verdict.errorMessage}`,
  };
}

function hasSessionId({ transport }: OpenTransport): boolean {
  return transport.sessionId !== undefined;
}

/** Resolves after a time, or as soon as the signal aborts. */
function aborted(signal: AbortSignal, waitMs: number): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve();
      return;
    }
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, waitMs);
    timer.unref();
    signal.addEventListener('abort', done, { once: true });
  });
}
