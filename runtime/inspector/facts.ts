/**
 * Reads from a chart's context what people ask for: whose it is, what it works on, and why it is as it is. Charts keep
 * these under the same few names, at the top or in the record that they work on; a context of another form has no facts.
 * @see INS-1 in docs/specification.md
 */

import type { ActorFacts } from './wire.ts';

type Held = Readonly<Record<string, unknown>>;

/** Facts by their name in a row, with the names that contexts have for them. */
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

/** A chart's facts; texts are as the context has them, for the redactor to look at. */
export function factsOf(context: unknown): ActorFacts {
  const held = objectOf(context);
  if (held === undefined) return {};
  // A ward has a name and a size; of its children each speaks for itself.
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
  // A call knows its tool by the server's name too; people know it by the registered one.
  if (typeof held.caller === 'string' && typeof held.name === 'string') facts.tool = held.name;
  // Shown by the name in the configuration, which may be an alias.
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

/** What every step is told with; each is there, known or not. */
export type BriefFacts = { readonly [Name in 'delivery' | 'route' | 'server' | 'key']: string | undefined };

const noFacts: BriefFacts = { delivery: undefined, route: undefined, server: undefined, key: undefined };

/** Those that every step is told with; a hundred thousand a second may be asked for. */
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

/** Why the actor is as it is, where its context says. */
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
    // A request holds its whole route; its name is the fact.
    const name = objectOf(value)?.name;
    if (typeof name === 'string') return name;
  }
  return undefined;
}

function objectOf(value: unknown): Held | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Held) : undefined;
}
