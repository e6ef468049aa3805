/**
 * Where the page is, in the address's hash: a view, what is chosen in it, and its filters. Every place is a link, so that
 * Back works and a row can be sent to a colleague at the same machine.
 * @see INS-2 in docs/specification.md
 */

import { createCell } from './cell.ts';
import { hashOf, keepInLinks, type Place, readHash, type View } from './hash.ts';

export const place = createCell<Place>(readHash(location.hash));

/** What the address says. The profile stays chosen from view to view. */
export function look(): void {
  const now = readHash(location.hash);
  keepInLinks({ profile: now.query.profile ?? '' });
  place.set(now);
}

look();
addEventListener('hashchange', () => {
  const { view, chosen, query } = place.get();
  if (hashOf(view, chosen, { profile: '', ...query }) !== location.hash) look();
});

/** Goes there; a change of filters alone leaves no trace in the history. */
export function go(view: View, chosen = '', query: Readonly<Record<string, string>> = {}): void {
  location.hash = hashOf(view, chosen, query);
  // At once, since the next key may come before the browser has told.
  look();
}

/** Goes to another part of a view when work has ended, unless the reader has left the view meanwhile. */
export function goWithin(view: View, chosen = ''): void {
  if (readHash(location.hash).view === view) go(view, chosen);
}

export function goFiltered(query: Readonly<Record<string, string>>): void {
  const { view, chosen } = place.get();
  history.replaceState(null, '', hashOf(view, chosen, query));
  look();
}
