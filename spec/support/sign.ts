/** Signed requests, as each kind of sender makes them. */

import { createHash, createHmac, randomUUID } from 'node:crypto';

export interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
  readonly headers: Headers;
}

export interface Sending {
  readonly secret: string;
  readonly event?: string;
  readonly id?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** POST where it is not given. */
  readonly method?: string;
  /** Hangs up once it is aborted. */
  readonly signal?: AbortSignal;
}

/** The id as white space, which JSON lets stand at its end: two events of one payload have different signatures (SEC-6). */
const blanksOf = (id: string): string =>
  [...createHash('sha256').update(id).digest().subarray(0, 6)]
    .map((byte) => byte.toString(4).replace(/\d/g, (digit) => ' \t\n\r'.charAt(Number(digit))))
    .join('');

/** The header that signs a body like GitHub. */
export function signGithub(secret: string, body: string): Readonly<Record<string, string>> {
  return { 'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}` };
}

/** Posts a payload as GitHub signs it, a text as it is; resolves with the answer. */
export async function postSigned(
  url: string,
  payload: unknown,
  { secret, event = 'push', id = randomUUID(), headers = {}, method = 'POST', signal }: Sending,
): Promise<Answer> {
  const body = typeof payload === 'string' ? payload : `${JSON.stringify(payload)}${blanksOf(id)}`;
  const response = await fetch(url, {
    method,
    body,
    ...(signal === undefined ? {} : { signal }),
    headers: {
      'content-type': 'application/json',
      'x-github-event': event,
      'x-github-delivery': id,
      ...signGithub(secret, body),
      ...headers,
    },
  });
  return {
    status: response.status,
    body: (await response.json()) as Record<string, unknown>,
    headers: response.headers,
  };
}
