/**
 * What follows the end of a request's chart: its row, its trace, and the answer of a request whose chart crashed.
 * @see INS-1 and RTE-3 in docs/specification.md
 */

import type { CompiledRoute } from '../../machines/webhook/compile-route.ts';
import { deliveryIdOf } from '../../machines/webhook/envelope.ts';
import { replyTo } from '../../machines/webhook/reply.ts';
import type { RequestContext, RequestOutput } from '../../machines/webhook/webhook-request.machine.ts';
import type { createEventTraces } from '../observe/tracing-spans.ts';
import { addressIn, type Exchanges, type LiveRequest } from './exchanges.ts';

interface RequestEndPorts {
  readonly exchanges: Exchanges;
  readonly find: (path: string) => CompiledRoute | undefined;
  readonly decided: (output: RequestOutput, live: LiveRequest | undefined) => void;
  readonly traced: ReturnType<typeof createEventTraces>['ended'];
  readonly nowMs: () => number;
}

const internalError = replyTo({ kind: 'internal' });

export function createRequestEnds({ exchanges, find, decided, traced, nowMs }: RequestEndPorts) {
  return {
    onDone(key: string, output: RequestOutput): void {
      const live = exchanges.get(key);
      exchanges.delete(key);
      // A check by the owner is no event.
      if (live?.checksOnly === true) return;
      traced(output, live);
      decided(output, live);
    },
    onCrashed(key: string): void {
      const live = exchanges.get(key);
      exchanges.delete(key);
      if (live === undefined) return;
      // The record needs the address of the sender, which is unknown after the answer.
      addressIn(live);
      live.exchange.reply(internalError);
      live.part?.answered({ kind: 'internal' });
      decided(crashedRequest(key, live, find, nowMs()), live);
    },
  };
}

/** The known facts of a request whose chart crashed: enough for a row that refers to the log. */
function crashedRequest(
  id: string,
  { exchange, body }: LiveRequest,
  find: (path: string) => CompiledRoute | undefined,
  receivedAtMs: number,
): RequestContext {
  const { method, path, headers } = exchange.head;
  const route = find(path)?.route;
  const deliveryId = deliveryIdOf(headers, body);
  return {
    id,
    origin: 'http',
    method,
    path,
    receivedAtMs,
    ...(route === undefined ? {} : { route, profile: route.profile }),
    ...(deliveryId === undefined ? {} : { deliveryId }),
    outcome: { kind: 'internal' },
    reason: `internal error; the log has the details of request ${id}`,
  };
}
