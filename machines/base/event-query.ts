/**
 * The query language for events: words, quoted phrases, and filters such as `route:stripe`. All parts must match; of several
 * filters with one name, any may match. Case is ignored.
 * @see INS-4 in docs/specification.md
 */

import { outcomeOfStatus } from './event-outcome.ts';
import { eventStatuses, runStatuses } from './status.ts';

export const filterNames = ['route', 'status', 'event', 'id', 'source', 'target', 'profile', 'node', 'is'] as const;
type FilterName = (typeof filterNames)[number];

export interface EventQuery {
  readonly texts: readonly string[];
  readonly filters: Readonly<Partial<Record<FilterName, readonly string[]>>>;
}

type QueryReading =
  | { readonly ok: true; readonly query: EventQuery }
  | { readonly ok: false; readonly problem: string };

interface QueryPart {
  readonly from: number;
  readonly to: number;
  /** Absent for free text. */
  readonly filter?: FilterName;
  /** Without quotes. */
  readonly value: string;
}

/** What the chips count: finer than outcomes. */
export const chipNames = ['open', 'delivered', 'failed', 'refused', 'unconfirmed', 'ignored', 'duplicate'] as const;
export type ChipName = (typeof chipNames)[number];

const everyStatus: readonly string[] = [...new Set([...eventStatuses, ...runStatuses, 'waiting', 'retrying'])];

/** The statuses that each word after `status:` selects. */
const statusWords: Readonly<Record<string, readonly string[]>> = {
  open: everyStatus.filter((status) => outcomeOfStatus(status) === 'open'),
  delivered: ['delivered'],
  failed: everyStatus.filter((status) => chipOfStatus(status) === 'failed'),
  refused: ['refused'],
  unconfirmed: ['unknown'],
  ignored: everyStatus.filter((status) => chipOfStatus(status) === 'ignored'),
  duplicate: ['duplicate'],
  waiting: ['waiting'],
  running: ['running'],
  queued: ['accepted', 'cron', 'queued'],
  batching: ['coalesced'],
  delivering: ['delivering'],
  retrying: ['retrying'],
  partial: ['partial'],
  interrupted: ['interrupted'],
  cancelled: ['cancelled'],
};

export const knownValues: Readonly<Partial<Record<FilterName, readonly string[]>>> = {
  status: Object.keys(statusWords),
  is: ['replay'],
};

const part =
  /"(?<phrase>[^"]*)"?|(?:(?<name>[a-z]+):(?!\/\/))?(?:"(?<quoted>[^"]*)"?|(?<bare>[^\s"]+)|(?<none>(?<=:)))/giu;

/** Splits a query into its parts. An unknown filter counts as free text here. */
export function partsOfQuery(text: string): readonly QueryPart[] {
  return [...text.matchAll(part)].flatMap((found) => {
    const { phrase, name, quoted, bare } = found.groups ?? {};
    const value = phrase ?? quoted ?? bare ?? '';
    const from = found.index;
    const to = from + found[0].length;
    const filter = filterNames.find((one) => one === name?.toLowerCase());
    if (name !== undefined && filter === undefined) return [{ from, to, value: found[0] }];
    if (filter === undefined) return value === '' ? [] : [{ from, to, value }];
    return [{ from, to, filter, value }];
  });
}

/** Parses a query, or names the part that is invalid and how to correct it. */
export function readQuery(text: string): QueryReading {
  const texts: string[] = [];
  const filters: Partial<Record<FilterName, string[]>> = {};
  for (const { from, to, filter, value } of partsOfQuery(text)) {
    if (filter === undefined) {
      const unknown = text[from] === '"' ? undefined : /^([a-z]+):(?!\/\/)/i.exec(value)?.[1];
      if (unknown !== undefined) {
        const known = filterNames.map((name) => `${name}:`).join(', ');
        return refused(`"${unknown}:" is no filter; use one of ${known}, or put ${JSON.stringify(value)} in quotes`);
      }
      texts.push(value);
      continue;
    }
    const values = knownValues[filter];
    if (value === '')
      return refused(`"${text.slice(from, to)}" has no value; write ${filter}:${values?.[0] ?? '<name>'}`);
    const meant = values === undefined ? value : value.toLowerCase();
    if (values !== undefined && !values.includes(meant)) {
      return refused(`"${text.slice(from, to)}": ${filter} is one of ${values.join(', ')}`);
    }
    filters[filter] = [...(filters[filter] ?? []), meant];
  }
  return { ok: true, query: { texts, filters } };
}

/** Formats a query so that `readQuery` reads the same. Quotes within a text cannot be searched for and are left out. */
export function formatQuery({ texts, filters }: EventQuery): string {
  const filtered = filterNames.flatMap((name) => (filters[name] ?? []).map((value) => `${name}:${quoted(value)}`));
  return [...filtered, ...texts.map((text) => (text.includes(':') ? `"${text}"` : quoted(text)))].join(' ');
}

/** Returns the query with one filter's values replaced; the rest stays as it was typed. */
export function withFilter(text: string, name: FilterName, values: readonly string[]): string {
  const kept = partsOfQuery(text)
    .filter(({ filter }) => filter !== name)
    .map(({ from, to }) => text.slice(from, to));
  return [...values.map((value) => `${name}:${quoted(value)}`), ...kept].join(' ');
}

/** Returns the query limited to a profile (undefined: all); one that already filters by profile is unchanged. */
export function searchIn(text: string, profile: string | undefined): string {
  const isNamed = partsOfQuery(text).some(({ filter }) => filter === 'profile');
  return profile === undefined || isNamed ? text : withFilter(text, 'profile', [profile]);
}

/** Returns the statuses that a query selects; undefined for all. */
export function statusesOf({ filters: { status } }: EventQuery): ReadonlySet<string> | undefined {
  return status === undefined ? undefined : new Set(status.flatMap((word) => statusWords[word] ?? []));
}

export function chipOfStatus(status: string): ChipName {
  if (status === 'unknown') return 'unconfirmed';
  return chipNames.find((name) => name === status) ?? outcomeOfStatus(status);
}

function quoted(text: string): string {
  return /^[^\s":]+$/.test(text) ? text : `"${text.replaceAll('"', '')}"`;
}

function refused(problem: string): QueryReading {
  return { ok: false, problem };
}
