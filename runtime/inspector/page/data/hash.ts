/**
 * Reads and writes the address's hash: a view, what is chosen in it, and its filters. Knows no browser.
 * @see INS-2 in docs/specification.md
 */

export const views = [
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

/** A place of the hash; what is unknown is the first view. */
export function readHash(hash: string): Place {
  const [path = '', search = ''] = hash.replace(/^#\/?/, '').split('?');
  const [name = '', ...rest] = path.split('/');
  const view = views.find((one) => one === name) ?? 'overview';
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

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
