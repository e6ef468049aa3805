/**
 * Sends a journalled event through the chart again, as a new delivery: with the current route, without the signature,
 * which was checked when the event arrived, and without the sender's quota. A person may change the payload, the event
 * type and the route, or suppress deliveries; all rules after the signature still apply.
 * @see DUR-2 in docs/specification.md
 */

import type { EventRecord } from '../../machines/webhook/record.ts';
import { Refusal } from '../control/refusal.ts';
import type { Exchange, Reply } from '../http/front.ts';
import type { NextId } from '../system/ids.ts';
import type { Wards } from '../system/wards.ts';
import { type Exchanges, liveRequest } from './exchanges.ts';

export interface ReplayPorts {
  readonly exchanges: Exchanges;
  readonly wards: () => Wards;
  readonly nextId: NextId;
  readonly nowMs: () => number;
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
}

/** The chart's answer, and the key of the new event. */
export interface Replayed extends Reply {
  readonly key: string;
}

/** Resolves with the chart's answer; its body names the new delivery id. */
export function replayEvent(
  key: string,
  event: EventRecord,
  { payload, event: eventType, to, isDry }: ReplayChanges,
  ports: ReplayPorts,
): Promise<Replayed> {
  return new Promise((resolve, reject) => {
    const receivedAtMs = ports.nowMs();
    const id = ports.nextId(receivedAtMs);
    const path = pathOf({ profile: event.profile, route: to ?? event.route });
    const body = Buffer.from(payload ?? event.body, 'utf8');
    const exchange: Exchange = {
      head: { method: 'POST', path, headers: event.headers },
      readBody: (_, settled) => settled({ kind: 'aborted' }),
      reply: (reply) => resolve({ ...reply, key: id }),
    };
    const isEdited = payload !== undefined || eventType !== undefined || to !== undefined;
    const replay = {
      of: key,
      ...(isEdited ? { isEdited } : {}),
      ...(isDry === undefined ? {} : { isDry }),
      ...(eventType === undefined ? {} : { event: eventType }),
    };
    ports.exchanges.set(id, { ...liveRequest(exchange, body), handedIn: event.told?.handedIn });
    const { requests } = ports.wards();
    const input = { id, origin: 'replay', method: 'POST', path, receivedAtMs, replay } as const;
    if (
      requests.spawn(id, { ...input, ...(payload === undefined ? {} : { declaredBytes: body.length }) }) !== undefined
    )
      return;
    ports.exchanges.delete(id);
    reject(new Refusal('gateway-busy', 'the gateway is busy starting or stopping; try again in a moment'));
  });
}

function pathOf({ profile, route }: Pick<EventRecord, 'profile' | 'route'>): string {
  const name = encodeURIComponent(route);
  return profile === 'default' ? `/webhooks/${name}` : `/p/${encodeURIComponent(profile)}/webhooks/${name}`;
}
