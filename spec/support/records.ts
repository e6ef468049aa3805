/** A plain event, run, delivery, request of a run, route and connection, as most specs begin with one; each says what is its own. */

import type { AgentRunRequest } from '../../actors/ports.ts';
import { defaultProfile, type RouteName } from '../../machines/base/names.ts';
import type { Route } from '../../machines/config/route.ts';
import type { ConnectionInput } from '../../machines/mcp/server-connection.machine.ts';
import type { CompiledRoute } from '../../machines/webhook/compile-route.ts';
import type { DeliveryRecord, EventRecord, RunRecord } from '../../machines/webhook/record.ts';
import type { RequestFacts } from '../../machines/webhook/request-rules.ts';

export const plainEvent: EventRecord = {
  deliveryId: 'd',
  route: 'r',
  profile: 'default',
  event: 'push',
  status: 'accepted',
  receivedAtMs: 0,
  headers: {},
  body: '',
};

export const plainRun: RunRecord = {
  eventKey: 'e',
  profile: 'default',
  route: 'r',
  kind: 'agent',
  status: 'queued',
  attempt: 0,
  queuedAtMs: 0,
};

export const plainDelivery: DeliveryRecord = {
  eventKey: 'e',
  deliveryId: 'd',
  profile: 'default',
  route: 'r',
  event: 'push',
  target: 'slack',
  status: 'queued',
  text: 'x',
  extra: {},
  queuedAtMs: 0,
};

export const plainRequest: AgentRunRequest = {
  runId: 'r1',
  deliveryId: 'd1',
  route: 'r',
  event: 'push',
  profile: defaultProfile,
  attempt: 1,
  prompt: 'hello',
  toolsets: [],
};

export const plainRoute: Route = {
  name: 'r' as RouteName,
  source: 'static',
  profile: defaultProfile,
  enabled: true,
  events: [],
  filters: [],
  scriptTimeoutMs: 1,
  skills: [],
  deliver: 'log',
  deliverExtra: {},
  deliverOnly: false,
  allowIdenticalBodies: false,
};

export const plainConnection: ConnectionInput = {
  server: 's',
  profile: 'default',
  transport: 'stdio',
  begin: 'connecting',
  why: null,
  tools: 0,
  keepaliveMs: 0,
  idleTimeoutMs: 0,
  maxLifetimeMs: 0,
  breakerLimits: { failures: 5, resetMs: 30_000 },
};

/** The facts of a request of this route that nothing stands in the way of. */
export function plainFacts(compiled: CompiledRoute): RequestFacts {
  return {
    maxBodyBytes: () => Number.POSITIVE_INFINITY,
    findRoute: () => compiled,
    routesAreRead: () => true,
    compiled: () => compiled,
    headers: () => ({}),
    query: () => undefined,
    body: () => Buffer.alloc(0),
    certificate: () => undefined,
    partOf: () => undefined,
    parsed: () => ({ ok: true, value: {} }),
    secondsUntilFree: () => undefined,
    secondsUntilHandshake: () => undefined,
    signatureHolder: () => undefined,
    list: () => undefined,
  };
}
