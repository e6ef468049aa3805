/**
 * Puts what was received while metadata was looked for before the error that followed: the statuses are the evidence.
 * @see OAU-7 in docs/specification.md
 */

export interface SeenAnswer {
  readonly url: string;
  /** The HTTP status, or a word where there was none. */
  readonly status: number | string;
}

/** The failed fetches of metadata, and then what came of going on without. */
export function describeDiscovery(seen: readonly SeenAnswer[], then: string): string {
  const failed = seen.filter(isFailed);
  // A resource that says nothing of itself is no news where its authorization server was read.
  const wasRead = seen.some((answer) => !isFailed(answer) && !/\/oauth-protected-resource/.test(answer.url));
  if (failed.length === 0 || wasRead) return then;
  const list = failed.map(({ status, url }) => `${status} from ${withoutQuery(url)}`).join('; ');
  return `Could not read authorization-server metadata (${list}): ${then}`;
}

/** A redirect that is seen is one that was not followed. */
function isFailed({ status }: SeenAnswer): boolean {
  return typeof status !== 'number' || status >= 300;
}

function withoutQuery(url: string): string {
  const at = url.search(/[?#]/);
  return at < 0 ? url : url.slice(0, at);
}
