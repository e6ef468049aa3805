/**
 * Keeps the stream open on which a server of the era of handshakes reports changed lists over HTTP. The SDK's transport
 * opens it once and retries twice; after a longer outage changes would never be noticed. Reopens it as long as the
 * session lives, and reports when changes may have been missed. Streams that resume a call are only held back where they
 * end at once. Of the messages on a stream only their ids, and whether they answer a request, are read.
 * @see FLT-4 in docs/specification.md
 */

import {
  type FetchLike,
  isJSONRPCErrorResponse,
  isJSONRPCResultResponse,
  SdkError,
  SdkErrorCode,
} from '@modelcontextprotocol/client';
import { createEventReader } from '../../machines/agent/event-stream.ts';
import { parseJson, parseObject } from '../../machines/base/read-json.ts';
import { methodIn } from './adapt-transport.ts';
import { boundBody } from './bounded-body.ts';

export interface StandingStream {
  /** Observes which streams are requested, open and closed. */
  watch(fetch: FetchLike): FetchLike;
  /** From now on it is reopened whenever it is gone. */
  keep(minding: Minding): void;
}

interface Minding {
  /** Requests the stream; `watch` sees a refusal. */
  readonly reopen: () => Promise<void>;
  /** The stream was gone and is open again, or the server refuses it now: messages in between were missed. */
  readonly missed: () => void;
  /** Aborts with the session. */
  readonly signal: AbortSignal;
}

interface StreamTimes {
  /** From the loss to the first attempt here; doubles each time. */
  readonly reopenMs: number;
  readonly maxReopenMs: number;
  /** Minimum time between two reports, for a server that keeps ending its stream. */
  readonly missedPauseMs: number;
  /** From the end of a stream that was shorter than this to the next; doubles each time. */
  readonly holdMs: number;
  readonly maxHoldMs: number;
  /** The same for a stream that resumes a call, whose answer is delayed by it. */
  readonly maxResumeMs: number;
}

/** The transport's own two retries are over before the first one here, unless the server asks for longer waits. */
const defaultTimes: StreamTimes = {
  reopenMs: 15_000,
  maxReopenMs: 60_000,
  missedPauseMs: 10_000,
  holdMs: 1_000,
  maxHoldMs: 60_000,
  maxResumeMs: 5_000,
};

/**
 * Delays requests for a stream that ends at once, again and again: the SDK repeats them as soon as the server's `retry:`
 * allows.
 */
interface Hold {
  readonly maxMs: number;
  ms: number;
  untilMs: number;
}

/** The fetch below limits the length of the events. */
const unbounded = { maxBytes: Number.POSITIVE_INFINITY };

/** These statuses are temporary or about credentials, not about streams. */
const unrelatedStatuses: ReadonlySet<number> = new Set([401, 403, 408, 425, 429]);

export function createStandingStream(times: StreamTimes = defaultTimes): StandingStream {
  let minding: Minding | undefined;
  let requests = 0;
  let openStreams = 0;
  /** The last event's, at which the transport resumes it. A GET at another id resumes a call. */
  let lastId = '';
  /** Whether it was ever open. */
  let wasOpen = false;
  /** The stream was open or was attempted without success, or the transport requests none: changes may have been missed. */
  let mayHaveMissed = false;
  /** The server provides no such stream. */
  let isUnsupported = false;
  let waitMs = times.reopenMs;
  let reopenTimer: NodeJS.Timeout | undefined;
  let reportTimer: NodeJS.Timeout | undefined;
  let reportedAtMs = Number.NEGATIVE_INFINITY;
  let isUnreported = false;
  /** Separate for streams that resume a call and for the others, so that neither delays the other. */
  const holds = {
    resumed: { maxMs: times.maxResumeMs, ms: 0, untilMs: 0 },
    own: { maxMs: times.maxHoldMs, ms: 0, untilMs: 0 },
  } satisfies Record<string, Hold>;

  /** Whether the stream is wanted, but neither open nor requested. */
  function isWanting(): boolean {
    return minding !== undefined && !minding.signal.aborted && !isUnsupported && requests === 0 && openStreams === 0;
  }

  function reopenIfWanted(): void {
    if (reopenTimer !== undefined || !isWanting()) return;
    reopenTimer = setTimeout(() => {
      reopenTimer = undefined;
      if (isWanting()) minding?.reopen().catch(() => {});
    }, waitMs).unref();
    waitMs = Math.min(waitMs * 2, times.maxReopenMs);
  }

  function missed(): void {
    isUnreported = true;
    if (minding === undefined || reportTimer !== undefined || minding.signal.aborted) return;
    const inMs = Math.max(0, reportedAtMs + times.missedPauseMs - performance.now());
    reportTimer = setTimeout(() => {
      reportTimer = undefined;
      isUnreported = false;
      reportedAtMs = performance.now();
      minding?.missed();
    }, inMs).unref();
  }

  function lasted(hold: Hold, ms: number, hasAnswered: boolean): void {
    hold.ms = hasAnswered || ms >= times.holdMs ? 0 : Math.min(Math.max(times.holdMs, hold.ms * 2), hold.maxMs);
    hold.untilMs = performance.now() + hold.ms;
  }

  function opened(answer: Response): Promise<Response> {
    if (mayHaveMissed) missed();
    mayHaveMissed = true;
    wasOpen = true;
    openStreams += 1;
    waitMs = times.reopenMs;
    clearTimeout(reopenTimer);
    reopenTimer = undefined;
    const openedAtMs = performance.now();
    const { read, lastId: idNow } = watchEvents();
    const passes = (chunk: Uint8Array): void => {
      read(chunk);
      lastId = idNow() || lastId;
    };
    const ended = (): void => {
      openStreams -= 1;
      lasted(holds.own, performance.now() - openedAtMs, false);
      reopenIfWanted();
    };
    return boundBody(answer, { ...unbounded, passes, ended });
  }

  /**
   * Some servers end each stream to have it resumed, that of a listing too. A report of a gap by it would lead to a further
   * listing without end.
   */
  function resumed(answer: Response): Promise<Response> {
    const openedAtMs = performance.now();
    const { read } = watchEvents();
    // It ends with the answer to its call, however soon, and is not resumed after it.
    let hasAnswered = false;
    const passes = (chunk: Uint8Array): void => {
      if (!hasAnswered) hasAnswered = read(chunk).some(isAnswer);
    };
    const ended = (): void => lasted(holds.resumed, performance.now() - openedAtMs, hasAnswered);
    return boundBody(answer, { ...unbounded, passes, ended });
  }

  function refused(answer: Response): void {
    const { status } = answer;
    const isNo = isRefusal(answer);
    if (status === 405 || status === 501 || status < 400 || (isNo && !wasOpen)) isUnsupported = true;
    // The stream was given before. The next listing shows whether the server still has the session.
    else if (isNo) missed();
    mayHaveMissed = true;
  }

  return {
    watch: (fetch) => async (url, init) => {
      if (init?.method !== 'GET') {
        const reply = await fetch(url, init);
        mayHaveMissed ||= reply.ok && reply.status !== 202 && isReadyNotice(init?.body);
        // Without a stream no answer can follow. Some servers send it on the stream that they gave.
        if (reply.status === 202 && !wasOpen && requests === 0 && isRequest(init?.body)) {
          await reply.body?.cancel();
          throw notAnswered();
        }
        return reply;
      }
      const resumedAt = new Headers(init.headers).get('last-event-id');
      if (resumedAt !== null && resumedAt !== lastId) {
        await passed(holds.resumed.untilMs - performance.now(), init.signal);
        const answer = await fetch(url, init);
        if (answer.ok) return isEventStream(answer) ? resumed(startedAt(answer, resumedAt)) : noStream(answer);
        // The next listing shows whether the server still has the session.
        if (wasOpen && isRefusal(answer)) missed();
        return answer;
      }
      requests += 1;
      let answer: Response;
      try {
        await passed(holds.own.untilMs - performance.now(), init.signal);
        answer = await fetch(url, init);
        if (answer.ok && isEventStream(answer)) {
          answer = await opened(resumedAt === null ? answer : startedAt(answer, resumedAt));
        } else {
          refused(answer);
          if (answer.ok) answer = await noStream(answer);
        }
      } catch (thrown) {
        mayHaveMissed = true;
        throw thrown;
      } finally {
        requests -= 1;
        reopenIfWanted();
      }
      return answer;
    },
    keep(given) {
      minding = given;
      given.signal.addEventListener(
        'abort',
        () => {
          clearTimeout(reopenTimer);
          clearTimeout(reportTimer);
        },
        { once: true },
      );
      if (isUnreported) missed();
      if (mayHaveMissed) reopenIfWanted();
    },
  };
}

/**
 * A resumed stream that begins with the id it was resumed at, in an event without data, which the transport passes on to
 * nothing. Without an id of its own the SDK would forget the place if the stream ends once more, and never resume it.
 */
function startedAt({ body, headers, status, statusText }: Response, id: string): Response {
  const start = new TextEncoder().encode(`id: ${id}\ndata:\n\n`);
  const started = body?.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({ start: (controller) => controller.enqueue(start) }),
  );
  return new Response(started, { headers, status, statusText });
}

/** The transport takes any answer that succeeds for a stream, and requests one that has ended again after a second. */
async function noStream(answer: Response): Promise<Response> {
  await answer.body?.cancel();
  return new Response(null, { status: 405 });
}

/** Reads the chunks of an event stream. */
function watchEvents() {
  const text = new TextDecoder();
  const { read, lastId } = createEventReader();
  return { read: (chunk: Uint8Array) => read(text.decode(chunk, { stream: true })), lastId };
}

/** The same test as in the transport, which does not resume a stream after an answer. */
function isAnswer(data: string): boolean {
  const message = parseJson(data);
  return isJSONRPCResultResponse(message) || isJSONRPCErrorResponse(message);
}

/** Resolves after `ms`; rejects if the signal aborts first. */
async function passed(ms: number, signal: AbortSignal | null | undefined): Promise<void> {
  if (ms <= 0) return;
  await new Promise<void>((resolve, reject) => {
    const giveUp = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', giveUp);
      resolve();
    }, ms).unref();
    if (signal?.aborted) giveUp();
    else signal?.addEventListener('abort', giveUp, { once: true });
  });
}

/** Whether it is the notification that ends a handshake. The transport requests the stream once it is answered with 202. */
export function isReadyNotice(body: RequestInit['body']): boolean {
  return methodIn(body) === 'notifications/initialized';
}

/** Whether it needs an answer. A notification does not, nor an answer to the server, which may contain a "method" too. */
function isRequest(body: RequestInit['body']): boolean {
  const { id, method } = (typeof body === 'string' ? parseObject(body) : undefined) ?? {};
  return id !== undefined && method !== undefined;
}

/** The error of an answer that is no message, as for one of another content type, with what it is in that one's place. */
function notAnswered(): SdkError {
  const contentType = 'HTTP 202, which is for a message without an answer';
  return new SdkError(SdkErrorCode.ClientHttpUnexpectedContent, contentType, { contentType });
}

function isRefusal({ status }: Response): boolean {
  return status >= 400 && status < 500 && !unrelatedStatuses.has(status);
}

function isEventStream({ headers, body }: Response): boolean {
  return body !== null && (headers.get('content-type') ?? '').toLowerCase().startsWith('text/event-stream');
}
