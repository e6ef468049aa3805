/**
 * The request that a redirect leads to by the Fetch standard, which redirects are refused, and which headers must not go
 * to another origin. Sends nothing.
 * @see TLS-2 in docs/specification.md
 * @see [Fetch §4.4](https://fetch.spec.whatwg.org/#http-redirect-fetch)
 */

export interface RedirectableRequest {
  readonly url: URL;
  readonly method: string;
  readonly body: RequestInit['body'] | null;
}

interface Redirect {
  readonly request: RedirectableRequest;
  /** The target as shown to a person, without its query, which may hold a secret. */
  readonly shown: string;
  /** Why it is not followed, with the fix; undefined if it is. */
  readonly refusal: string | undefined;
}

const redirectStatuses: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
/** Headers that identify the caller, in addition to the configured ones. */
const credentialHeaders = ['authorization', 'proxy-authorization', 'cookie', 'dpop', 'mcp-session-id', 'last-event-id'];

/** The posted body would be lost, and a GET of an endpoint opens a stream without messages. */
const turned = 'would turn the POST into a GET and is not followed; put that address in url';

/** Undefined if the answer is not a redirect. */
export function redirectOf(
  { url, method, body }: RedirectableRequest,
  headers: Headers,
  answer: Pick<Response, 'status' | 'headers'>,
): Redirect | undefined {
  const location = answer.headers.get('location');
  if (location === null || !redirectStatuses.has(answer.status)) return undefined;
  if (!URL.canParse(location, url.href)) {
    return {
      request: { url, method, body },
      shown: 'an address',
      refusal: 'that is no URL is not followed; check url',
    };
  }
  const target = new URL(location, url);
  const becomesGet = answer.status === 303 ? method !== 'HEAD' : answer.status < 303 && method === 'POST';
  const request = { url: target, method: becomesGet ? 'GET' : method, body: becomesGet ? null : body };
  const form = (headers.get('content-type') ?? '').toLowerCase().startsWith('application/x-www-form-urlencoded');
  return {
    request,
    shown: `${target.origin}${target.pathname}`,
    refusal: becomesGet && method === 'POST' ? turned : refusalOf(url, request, form),
  };
}

export function crossesOrigin(from: URL, to: URL): boolean {
  return from.origin !== to.origin;
}

/** Removes the headers that only the first origin may see. */
export function withoutCredentials(headers: Headers, configured: Headers): void {
  for (const name of [...credentialHeaders, ...configured.keys()]) headers.delete(name);
}

function refusalOf(from: URL, { url, body }: RedirectableRequest, form: boolean): string | undefined {
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return 'leaves HTTP and is not followed; check url';
  if (from.protocol === 'https:' && url.protocol === 'http:')
    return 'would continue without TLS and is not followed; check url';
  // The forms are OAuth's and contain codes, tokens and client secrets.
  if (form && body !== null && crossesOrigin(from, url))
    return 'would take a form to another origin and is not followed; check url';
  return undefined;
}
