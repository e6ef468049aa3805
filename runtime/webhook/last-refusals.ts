/**
 * Keeps the last refused requests of each route in memory, as they came, so that their owner can ask why. Untrusted senders
 * can neither fill the memory nor push a refusal out by one with another reason.
 * @see SRC-5 and SEC-8 in docs/specification.md
 */

import type { RefusedRequest } from '../../machines/webhook/diagnose-refusal.ts';
import { statusOf } from '../../machines/webhook/reply.ts';
import type { RequestContext } from '../../machines/webhook/webhook-request.machine.ts';
import type { LiveRequest } from './exchanges.ts';

export interface LastRefusals {
  /** Keeps a request of a route that was refused; passes over all others. */
  add(context: RequestContext, live: LiveRequest | undefined): void;
  /** Newest first, each with another reason. */
  of(profile: string, route: string): readonly RefusedRequest[];
}

/** Reasons of one route. */
export const mostOfRoute = 4;
/** Of all routes: with bodies of the longest, some ten megabytes. */
export const mostKept = 128;
/** Longer bodies are not kept. */
export const longestBody = 65_536;

interface Kept {
  readonly route: string;
  readonly request: RefusedRequest;
}

export function createLastRefusals(): LastRefusals {
  /** The one that changed last at the end. */
  const kept = new Map<string, Kept>();

  return {
    add({ id, method, path, receivedAtMs, route, outcome, reason }, live) {
      if (route === undefined || outcome === undefined || live === undefined || statusOf(outcome) < 400) return;
      const { kind } = outcome;
      const ofRoute = nameOf(route.profile, route.name);
      // A timestamp is one second further from the clock each second, for the same reason.
      const why = kind === 'badSignature' ? (reason ?? '').replace(/\d+/g, '0') : '';
      const name = `${ofRoute} ${kind} ${why}`;
      const { headers, body, exchange } = live;
      const { query } = exchange.head;
      const request: RefusedRequest = {
        key: id,
        receivedAtMs,
        kind,
        reason,
        method,
        path,
        query,
        headers,
        body: body.length > longestBody ? undefined : body,
      };
      if (!kept.delete(name)) {
        const others = [...kept].filter(([, one]) => one.route === ofRoute);
        const [oldest] = others.length >= mostOfRoute ? others : kept.size >= mostKept ? kept : [];
        if (oldest !== undefined) kept.delete(oldest[0]);
      }
      kept.set(name, { route: ofRoute, request });
    },
    of(profile, route) {
      const wanted = nameOf(profile, route);
      const found = [...kept.values()].filter((one) => one.route === wanted);
      return found.map(({ request }) => request).reverse();
    },
  };
}

function nameOf(profile: string, route: string): string {
  return `${profile}/${route}`;
}
