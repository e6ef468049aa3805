/**
 * Where the page is, in the address's hash: a view, what is chosen in it, and its filters. Every place is a link, so that
 * Back works and a row can be sent to a colleague at the same machine.
 * @see INS-2 in docs/specification.md
 */

import { createCell } from './cell.ts';

export const views = ['now', 'events', 'servers', 'approvals', 'cron', 'targets'] as const;
export type View = (typeof views)[number];

export interface Place {
  readonly view: View;
  /** What is chosen: an actor's address, a delivery's key, `profile/server`, a job; empty for nothing. */
  readonly chosen: string;
  readonly query: Readonly<Record<string, string>>;
}

export const place = createCell<Place>(readHash(location.hash));

addEventListener('hashchange', () => {
  const { view, chosen, query } = place.get();
  if (hashOf(view, chosen, query) !== location.hash) place.set(readHash(location.hash));
});

/** A place of the hash; what is unknown is the first view. */
export function readHash(hash: string): Place {
  const [path = '', search = ''] = hash.replace(/^#\/?/, '').split('?');
  const [name = '', ...rest] = path.split('/');
  const view = views.find((one) => one === name) ?? 'now';
  return {
    view,
    chosen: rest.map(decoded).join('/'),
    query: Object.fromEntries(new URLSearchParams(search)),
  };
}

/** The hash of a place. */
export function hashOf(view: View, chosen = '', query: Readonly<Record<string, string>> = {}): string {
  const search = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== '')).toString();
  const path = chosen === '' ? view : `${view}/${chosen.split('/').map(encodeURIComponent).join('/')}`;
  return `#/${path}${search === '' ? '' : `?${search}`}`;
}

/** Goes there; a change of filters alone leaves no trace in the history. */
export function go(view: View, chosen = '', query: Readonly<Record<string, string>> = {}): void {
  location.hash = hashOf(view, chosen, query);
  // At once, since the next key may come before the browser has told.
  place.set(readHash(location.hash));
}

export function goFiltered(query: Readonly<Record<string, string>>): void {
  const { view, chosen } = place.get();
  history.replaceState(null, '', hashOf(view, chosen, query));
  place.set(readHash(location.hash));
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
