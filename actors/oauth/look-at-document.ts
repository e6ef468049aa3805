/**
 * Fetches a client metadata document as an authorization server would, and returns what is wrong with it. A document that
 * is unreachable from here may be reachable from there, so a finding is a warning.
 * @see OAU-5 in docs/specification.md
 */

import type { FetchLike } from '@modelcontextprotocol/client';
import { causeOf } from '../../machines/base/fault.ts';
import { parseJson } from '../../machines/base/read-json.ts';
import { checkDocument, type DocumentFinding } from '../../machines/oauth/metadata-document.ts';

/** Never rejects. */
export async function lookAtDocument(url: string, fetch: FetchLike): Promise<readonly DocumentFinding[]> {
  try {
    const answer = await fetch(url, { headers: { accept: 'application/json' }, redirect: 'manual' });
    const text = await answer.text();
    const contentType = answer.headers.get('content-type') ?? undefined;
    return checkDocument(url, { status: answer.status, contentType, body: parseJson(text) });
  } catch (thrown) {
    const message = `the client metadata document ${url} cannot be fetched from here: ${causeOf(thrown)}`;
    return [{ code: 'document-unreachable', message }];
  }
}
