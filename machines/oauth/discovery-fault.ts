/**
 * Prefixes the statuses of failed metadata requests to the error that followed, as evidence.
 * @see OAU-7 in docs/specification.md
 */

export interface SeenAnswer {
  readonly url: string;
  /** The HTTP status, or a word if there was none. */
  readonly status: number | string;
  /** Why nothing was requested there, with the cure. */
  readonly refusal?: string;
}

/** The failed metadata requests, and then the error after continuing without metadata. */
export function describeDiscovery(seen: readonly SeenAnswer[], then: string): string {
  const failed = seen.filter(isFailed);
  // A resource without metadata does not matter if its authorization server's metadata was read.
  const wasRead = seen.some((answer) => !isFailed(answer) && !/\/oauth-protected-resource/.test(answer.url));
  if (failed.length === 0 || wasRead) return then;
  // A place that a challenge names may be the usual one, which is asked again.
  const list = new Set(failed.map((answer) => wordsOf(answer, then)));
  return `Could not read authorization-server metadata (${[...list].join('; ')}): ${then}`;
}

function wordsOf({ status, url, refusal }: SeenAnswer, then: string): string {
  const place = withoutQuery(url);
  if (refusal === undefined) return `${status} from ${place}`;
  return `${status} to ${place}${then.includes(refusal) ? '' : `: ${refusal}`}`;
}

/** A redirect among the answers was not followed. */
function isFailed({ status }: SeenAnswer): boolean {
  return typeof status !== 'number' || status >= 300;
}

/** The address as it is shown: its query may hold a secret. */
export function withoutQuery(url: string): string {
  const at = url.search(/[?#]/);
  return at < 0 ? url : url.slice(0, at);
}
