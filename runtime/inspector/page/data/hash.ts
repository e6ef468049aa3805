/**
 * Reads and writes the hash of the address: a view, what is chosen in it, and its filters. Independent of the browser.
 * @see INS-2 in docs/specification.md
 */

import { percentDecoded } from '../../../../machines/base/percent-decoded.ts';

const views = [
  'overview',
  'events',
  'failures',
  'approvals',
  'routes',
  'servers',
  'targets',
  'schedules',
  'nodes',
  'actors',
  'config',
  'audit',
] as const;
export type View = (typeof views)[number];

export interface Place {
  readonly view: View;
  /** What is chosen: an actor's address, a delivery's key, `profile/server`, a job; empty for nothing. */
  readonly chosen: string;
  readonly query: Readonly<Record<string, string>>;
}

/** Returns the place of a hash; an unknown view becomes the first one. */
export function readHash(hash: string): Place {
  const [path = '', ...search] = hash.replace(/^#\/?/, '').split('?');
  const [name = '', ...rest] = path.split('/');
  const view = views.find((one) => one === name) ?? 'overview';
  return {
    view,
    chosen: rest.map(percentDecoded).join('/'),
    query: Object.fromEntries(new URLSearchParams(search.join('?'))),
  };
}

let kept: Place['query'] = {};

/** Adds these filters to every further link, unless it has its own; an empty one removes a filter. */
export function keepInLinks(query: Place['query']): void {
  kept = query;
}

export function hashOf(view: View, chosen = '', query: Place['query'] = {}): string {
  const all = Object.entries({ ...kept, ...query }).filter(([, value]) => value !== '');
  const search = new URLSearchParams(all).toString();
  const path = chosen === '' ? view : `${view}/${chosen.split('/').map(encodeURIComponent).join('/')}`;
  return `#/${path}${search === '' ? '' : `?${search}`}`;
}

/** Returns the hash of a place that the daemon names, such as `servers/default/github`. */
export function hashTo(named: string): string {
  const { view, chosen, query } = readHash(named);
  return hashOf(view, chosen, query);
}
