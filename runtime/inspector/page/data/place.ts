/**
 * The page's place in the hash of the address: a view, what is chosen in it, and its filters. Every place is a link, so
 * that Back works and a row can be sent to a colleague at the same machine.
 * @see INS-2 in docs/specification.md
 */

import { createCell } from './cell.ts';
import { hashOf, keepInLinks, type Place, readHash, type View } from './hash.ts';

export const place = createCell<Place>(readHash(location.hash));

/** Reads the address. The profile stays chosen in all views. */
export function look(): void {
  const now = readHash(location.hash);
  keepInLinks({ profile: now.query.profile ?? '' });
  place.set(now);
}

const holds: (() => boolean)[] = [];

/**
 * Calls back, until the returned function is called, when a person leaves the place by Back or by the address. If it returns
 * true, the page stays, and the place that was wanted is one step back in the browser's history.
 */
export function holdPlace(isHeld: () => boolean): () => void {
  holds.push(isHeld);
  return () => void holds.splice(holds.indexOf(isHeld), 1);
}

look();
addEventListener('hashchange', () => {
  const { view, chosen, query } = place.get();
  const present = hashOf(view, chosen, { profile: '', ...query });
  if (present === location.hash) return;
  if (holds.at(-1)?.() === true) history.pushState(null, '', present);
  else look();
});

export function go(view: View, chosen = '', query: Readonly<Record<string, string>> = {}): void {
  location.hash = hashOf(view, chosen, query);
  // Immediately, since the next key may come before the browser's event.
  look();
}

/** Goes to another part of a view when work has ended, unless the person has left the view meanwhile. */
export function goWithin(view: View, chosen = ''): void {
  if (readHash(location.hash).view === view) go(view, chosen);
}

/** Goes from a place to what work has made there, with its filters, unless the person has left the place meanwhile. */
export function goOn({ view, chosen }: Place, made: string): void {
  const now = place.get();
  if (now.view === view && now.chosen === chosen) go(view, made, now.query);
}

/** Changes only the filters, without an entry in the browser's history. */
export function goFiltered(query: Readonly<Record<string, string>>): void {
  const { view, chosen } = place.get();
  history.replaceState(null, '', hashOf(view, chosen, query));
  look();
}
