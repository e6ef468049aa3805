/**
 * A fetch whose JSON answers have the form of the standards, for the libraries that accept no other. Other answers are
 * passed on as they are.
 * @see OAU-1, OAU-4 and DEV-4 in docs/specification.md
 */

import type { FetchLike } from '@modelcontextprotocol/client';
import { causeOf } from '../../machines/base/fault.ts';
import type { JsonObject } from '../../machines/base/json.ts';
import { parseObject } from '../../machines/base/read-json.ts';
import { withoutQuery } from '../../machines/oauth/discovery-fault.ts';
import { isErrorAnswer, plainAnswer } from '../../machines/oauth/plain-answer.ts';

/** An answer began and its body could not be read. The message names the address, which the error of the body does not. */
export class UnreadFailure extends Error {
  override readonly name = 'UnreadFailure';

  constructor(url: string | URL, thrown: unknown) {
    const why = thrown instanceof DOMException ? 'it did not end in time' : causeOf(thrown);
    super(`the answer of ${withoutQuery(String(url))} cannot be read: ${why}`);
  }
}

export function plainFetch(fetch: FetchLike): FetchLike {
  return async (url, init) => {
    const response = await fetch(url, init);
    const { status, statusText } = response;
    const headers = new Headers(response.headers);
    const text = await response.text().catch((thrown: unknown) => {
      throw new UnreadFailure(url, thrown);
    });
    const body = parseObject(text) ?? formOf(headers.get('content-type'), text);
    if (body === undefined) return new Response(text === '' ? null : text, { status, statusText, headers });
    const answer = plainAnswer(body);
    const isError = isErrorAnswer(answer);
    // The device grant's library reads the header instead of the error.
    if (isError) headers.delete('www-authenticate');
    headers.set('content-type', 'application/json');
    return new Response(JSON.stringify(answer), { status: isError && response.ok ? 400 : status, statusText, headers });
  };
}

/** In characters: one of a million could have a hundred thousand fields, which take a second. */
const maxFormLength = 262_144;

/** Some token endpoints answer as before the standard, which requires JSON, whatever the request accepts. */
function formOf(type: string | null, text: string): JsonObject | undefined {
  const isForm = /^application\/x-www-form-urlencoded\b/i.test(type ?? '');
  return isForm && text.length <= maxFormLength ? Object.fromEntries(new URLSearchParams(text)) : undefined;
}
