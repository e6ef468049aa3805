/**
 * Reads the facts of a row from a chart's context: profile, route, server, reason and so on. Contexts have these under the
 * same few names, at the top level or in `record`; a context of another shape has no facts.
 * @see INS-1 in docs/specification.md
 */

import type { ActorFacts } from '../control/contract/wire.ts';

type Held = Readonly<Record<string, unknown>>;

/** Each fact's name in a row, with its names in contexts. */
const texts: readonly (readonly [name: keyof ActorFacts, keys: readonly string[]])[] = [
  ['profile', ['profile']],
  ['route', ['route']],
  ['event', ['event']],
  ['delivery', ['deliveryId']],
  ['server', ['server']],
  ['tool', ['tool']],
  ['target', ['target']],
  ['group', ['groupKey', 'group']],
  ['job', ['job']],
  ['url', ['url']],
  ['by', ['caller', 'by']],
];
const numbers: readonly (readonly [name: keyof ActorFacts, keys: readonly string[]])[] = [
  ['attempt', ['attempt', 'attempts', 'tries', 'failures']],
  ['tools', ['tools']],
  ['waiting', ['inFlight']],
];

/** Returns a chart's facts. The texts are not redacted yet. */
export function factsOf(context: unknown): ActorFacts {
  const held = objectOf(context);
  if (held === undefined) return {};
  // A pool has a name and a size; its children have facts of their own.
  if (typeof held.size === 'number') return { size: held.size };
  const record = objectOf(held.record) ?? held;
  const facts: Record<string, string | number> = {};
  for (const [name, keys] of texts) {
    const text = textAt(record, keys) ?? (record === held ? undefined : textAt(held, keys));
    if (text !== undefined) facts[name] = text;
  }
  for (const [name, keys] of numbers) {
    for (const key of keys) {
      const value = record[key] ?? held[key];
      if (typeof value === 'number' && value > 0) facts[name] ??= value;
    }
  }
  // In a call, `tool` can be the server's own name; `name` is the registered one, which people use.
  if (typeof held.caller === 'string' && typeof held.name === 'string') facts.tool = held.name;
  // The target's name in the configuration, which may be an alias.
  if (typeof held.target === 'string' && typeof held.name === 'string') facts.target = held.name;
  const burst = objectOf(held.burst) ?? objectOf(held.opening);
  if (typeof burst?.count === 'number') facts.waiting = burst.count;
  const key =
    textAt(record, ['eventKey']) ??
    textAt(burst ?? {}, ['latestEventKey']) ??
    (held.origin !== undefined ? textAt(held, ['id']) : textAt(held, ['run']));
  if (key !== undefined) facts.key = key;
  return facts;
}

/** The facts that every step carries. All keys are present. */
export type BriefFacts = { readonly [Name in 'delivery' | 'route' | 'server' | 'key']: string | undefined };

const noFacts: BriefFacts = { delivery: undefined, route: undefined, server: undefined, key: undefined };

/** Returns the facts of a step. It may be called a hundred thousand times a second. */
export function briefFactsOf(context: unknown): BriefFacts {
  const held = objectOf(context);
  if (held === undefined || typeof held.size === 'number') return noFacts;
  const record = objectOf(held.record) ?? held;
  const delivery = record.deliveryId;
  const route = typeof record.route === 'string' ? record.route : objectOf(record.route)?.name;
  const server = record.server;
  const key = typeof delivery === 'string' ? undefined : (record.eventKey ?? held.run);
  return { delivery: textOr(delivery), route: textOr(route), server: textOr(server), key: textOr(key) };
}

function textOr(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

export function reasonOf(context: unknown): string | undefined {
  const held = objectOf(context);
  if (held === undefined) return undefined;
  for (const one of [held.why, held.reason, held.fault, objectOf(held.record)?.reason]) {
    if (typeof one === 'string' && one !== '') return one;
    const message = objectOf(one)?.message;
    if (typeof message === 'string') return message;
  }
  return undefined;
}

function textAt(held: Held, keys: readonly string[]): string | undefined {
  for (const key of keys) {
    const value = held[key];
    if (typeof value === 'string' && value !== '') return value;
    // A request has its complete route here; the fact is the route's name.
    const name = objectOf(value)?.name;
    if (typeof name === 'string') return name;
  }
  return undefined;
}

function objectOf(value: unknown): Held | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Held) : undefined;
}
