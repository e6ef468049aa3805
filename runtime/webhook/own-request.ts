/**
 * Sends requests that come from no sender through the chart, and resolves with the chart's answer: tests by the owner, and
 * replays of journalled events as new deliveries. Each uses the route as it is now.
 *
 * A request that only its sender could sign (`handedIn`) and a replay skip the signature, which was checked when the event
 * arrived, and the sender's quota. All rules after the signature apply.
 * @see SUB-4 and DUR-2 in docs/specification.md
 */

import type { EventRecord, Hand } from '../../machines/webhook/record.ts';
import type { Reply } from '../../machines/webhook/reply.ts';
import type { RequestInput } from '../../machines/webhook/webhook-request.machine.ts';
import { Refusal } from '../control/contract/refusal.ts';
import type { RequestHead } from '../http/http-server.ts';
import { type LiveRequest, liveRequest, type SpawnPorts } from './exchanges.ts';

export interface OwnRequest {
  readonly path: string;
  readonly query?: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The request ends before its claim: nothing is written, delivered or run, and the route's script is skipped. */
  readonly checksOnly?: true | undefined;
  /** The tool that submits it without a signature, and gets the gateway's own answer; absent if it is signed. */
  readonly handedIn?: Hand | undefined;
}

/** The changes to the replayed event; absent fields stay as they were. */
export interface ReplayChanges {
  /** The payload in the sender's format. */
  readonly payload?: string;
  readonly event?: string;
  /** Another route of the same profile. */
  readonly to?: string;
  /** Nothing is delivered: the response is kept in the history. */
  readonly isDry?: true;
  /** Answered as a duplicate if another replay of several has accepted the event. */
  readonly isOnce?: true;
}

/** The chart's answer, and the key of the new event. */
interface OwnReply extends Reply {
  readonly key: string;
}

export function sendOwnRequest(request: OwnRequest, ports: SpawnPorts): Promise<OwnReply> {
  const { path, query, headers, body, checksOnly, handedIn } = request;
  const bytes = Buffer.from(body, 'utf8');
  const head = { method: 'POST', path, query, headers, contentLength: bytes.length };
  const origin = handedIn === undefined ? 'http' : 'owner';
  return submit(
    { head, bytes, marks: { checksOnly, handedIn }, input: { origin, declaredBytes: bytes.length } },
    ports,
  );
}

/** Resolves with the chart's answer; its body names the new delivery id. */
export function replayEvent(
  key: string,
  event: EventRecord,
  { payload, event: eventType, to, isDry, isOnce }: ReplayChanges,
  ports: SpawnPorts,
): Promise<OwnReply> {
  const path = pathOf({ profile: event.profile, route: to ?? event.route });
  const bytes = Buffer.from(payload ?? event.body, 'utf8');
  const isEdited = payload !== undefined || eventType !== undefined || to !== undefined;
  const replay = {
    of: key,
    ...(isEdited ? { isEdited } : {}),
    ...(isDry === undefined ? {} : { isDry }),
    ...(isOnce === undefined ? {} : { isOnce }),
    ...(eventType === undefined ? {} : { event: eventType }),
  };
  const declared = payload === undefined ? {} : { declaredBytes: bytes.length };
  const head = { method: 'POST', path, headers: event.headers };
  const marks = { handedIn: event.told?.handedIn };
  return submit({ head, bytes, marks, input: { origin: 'replay', replay, ...declared } }, ports);
}

interface Submission {
  readonly head: RequestHead;
  readonly bytes: Buffer;
  readonly marks: Pick<LiveRequest, 'checksOnly' | 'handedIn'>;
  readonly input: Pick<RequestInput, 'origin' | 'declaredBytes' | 'replay'>;
}

function submit({ head, bytes, marks, input }: Submission, ports: SpawnPorts): Promise<OwnReply> {
  return new Promise((resolve, reject) => {
    const receivedAtMs = ports.nowMs();
    const key = ports.nextId(receivedAtMs);
    const live = liveRequest(
      {
        head,
        readBody: (_, settled) => settled({ kind: 'read', bytes }),
        reply: (reply) => resolve({ ...reply, key }),
      },
      bytes,
    );
    ports.exchanges.set(key, { ...live, ...marks });
    const { method, path } = head;
    if (ports.pools().requests.spawn(key, { id: key, method, path, receivedAtMs, ...input }) !== undefined) return;
    ports.exchanges.delete(key);
    reject(new Refusal('gateway-busy', 'the gateway is busy starting or stopping; try again in a moment'));
  });
}

function pathOf({ profile, route }: Pick<EventRecord, 'profile' | 'route'>): string {
  const name = encodeURIComponent(route);
  return profile === 'default' ? `/webhooks/${name}` : `/p/${encodeURIComponent(profile)}/webhooks/${name}`;
}
