/**
 * Keeps the last refused requests of each route in memory, as they came, so that their owner can ask why: the newest of
 * each answer. A request of an untrusted sender can neither fill the memory nor push out one with another answer.
 * @see SRC-5 and SEC-8 in docs/specification.md
 */

import type { Route } from '../../machines/config/route.ts';
import type { Finding, RefusedRequest } from '../../machines/webhook/diagnose-refusal.ts';
import { statusOf } from '../../machines/webhook/reply.ts';
import type { RequestContext } from '../../machines/webhook/webhook-request.machine.ts';
import { senderOf } from '../http/sender.ts';
import type { LiveRequest } from './exchanges.ts';

export interface LastRefusals {
  /** Keeps a request of a route that was refused; passes over all others. */
  add(context: RequestContext, live: LiveRequest | undefined, address: string): void;
  /** Newest first, each with another answer. */
  of(profile: string, route: string): readonly RefusedRequest[];
}

type RouteId = Pick<Route, 'profile' | 'name'>;

export interface RefusalPorts {
  /** Returns the answer to a refused request, by its route as it is now; empty where the route is gone. */
  readonly diagnose: (refused: RefusedRequest, route: RouteId) => readonly Finding[];
  /** Milliseconds that only rise. */
  readonly steadyMs: () => number;
}

/** Answers of one route that anybody can cause, and as many that take its secret. */
export const mostOfRoute = 4;
/** Of all routes: with bodies of the longest, some ten megabytes. */
export const mostKept = 128;
/** Requests of all routes whose answer is not known yet; who asks for the answers waits for each of them. */
export const mostWaiting = 8;
/** Longer bodies are not kept. */
export const longestBody = 65_536;
/**
 * A diagnosis takes from half a millisecond to some twenty, and a flood brings ten thousand requests a second. Diagnoses get
 * a hundredth of the time, and this much in advance; a request beyond it waits, until its sender's next one takes its place.
 */
export const advanceMs = 50;
const share = 0.01;

interface Kept {
  readonly route: RouteId;
  readonly request: RefusedRequest;
  /** Its answer takes the secret of the route, so no flood makes room for itself here. */
  readonly isProven: boolean;
}

export function createLastRefusals({ diagnose, steadyMs }: RefusalPorts): LastRefusals {
  /** By route and answer, the one that changed last at the end. */
  const kept = new Map<string, Kept>();
  /** By route, reason and address of the sender, the oldest first. */
  const waiting = new Map<string, Omit<Kept, 'isProven'>>();
  /** What diagnoses have taken of the time, less their share since. */
  let takenMs = 0;
  let lastMs = steadyMs();

  function examine(name: string, { route, request }: Omit<Kept, 'isProven'>): void {
    waiting.delete(name);
    const beganMs = steadyMs();
    const findings = diagnose(request, route);
    takenMs += steadyMs() - beganMs;
    const isProven = findings.some(({ proven }) => proven === true);
    const answer = findings.map(({ text }) => text).join(' ');
    keep(`${route.profile}/${route.name} ${request.kind} ${withoutNumbers(answer)}`, { route, request, isProven });
  }

  function keep(name: string, one: Kept): void {
    if (!kept.delete(name)) {
      const rivals = [...kept].filter(
        ([, { route, isProven }]) => isSame(route, one.route) && isProven === one.isProven,
      );
      const unprovenFirst = [...kept].sort(([, a], [, b]) => Number(a.isProven) - Number(b.isProven));
      const [oldest] = rivals.length >= mostOfRoute ? rivals : kept.size >= mostKept ? unprovenFirst : [];
      if (oldest !== undefined) kept.delete(oldest[0]);
    }
    kept.set(name, one);
  }

  return {
    add({ id, method, path, receivedAtMs, route, outcome, reason }, live, address) {
      if (route === undefined || outcome === undefined || live === undefined || statusOf(outcome) < 400) return;
      const nowMs = steadyMs();
      takenMs = Math.max(0, takenMs - (nowMs - lastMs) * share);
      lastMs = nowMs;
      const [oldest] = waiting;
      if (oldest !== undefined && takenMs < advanceMs) examine(...oldest);
      else if (oldest !== undefined && waiting.size >= mostWaiting) waiting.delete(oldest[0]);
      const { kind } = outcome;
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
      const why = kind === 'badSignature' ? withoutNumbers(reason ?? '') : '';
      const name = `${route.profile}/${route.name} ${kind} ${senderOf(address)} ${why}`;
      waiting.delete(name);
      waiting.set(name, { route, request });
    },
    of(profile, route) {
      const wanted = { profile, name: route };
      for (const [name, one] of waiting) if (isSame(one.route, wanted)) examine(name, one);
      const found = [...kept.values()].filter((one) => isSame(one.route, wanted));
      return found.map(({ request }) => request).reverse();
    },
  };
}

/** A timestamp is one second further from the clock each second, for the same reason. */
function withoutNumbers(text: string): string {
  return text.replace(/\d+/g, '0');
}

function isSame(one: RouteId, other: { readonly profile: string; readonly name: string }): boolean {
  return one.name === other.name && one.profile === other.profile;
}
