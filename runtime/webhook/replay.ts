/**
 * Sends a journalled event through the chart once more, as a new delivery: by the route as it stands now, without the
 * signature, which was checked when the event first came, and without a slot of the sender's quota.
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

/** Resolves with the answer that the chart gives; its body names the new delivery id. */
export function replayEvent(key: string, event: EventRecord, ports: ReplayPorts): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const receivedAtMs = ports.nowMs();
    const id = ports.nextId(receivedAtMs);
    const path = pathOf(event);
    const exchange: Exchange = {
      head: { method: 'POST', path, headers: event.headers },
      readBody: (_, settled) => settled({ kind: 'aborted' }),
      reply: resolve,
    };
    ports.exchanges.set(id, liveRequest(exchange, Buffer.from(event.body, 'utf8')));
    const { requests } = ports.wards();
    if (requests.spawn(id, { id, origin: 'replay', method: 'POST', path, receivedAtMs, replayOf: key }) !== undefined)
      return;
    ports.exchanges.delete(id);
    reject(new Refusal('gateway-busy', 'the gateway is busy starting or stopping; try again in a moment'));
  });
}

function pathOf({ profile, route }: EventRecord): string {
  const name = encodeURIComponent(route);
  return profile === 'default' ? `/webhooks/${name}` : `/p/${encodeURIComponent(profile)}/webhooks/${name}`;
}
