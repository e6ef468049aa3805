/**
 * Checks whether an authorization server can use a client metadata document: how it is served, its client id, and its
 * redirects. Fetches nothing; the rules for its URL are in the configuration.
 * @see OAU-5 in docs/specification.md
 * @see [draft-ietf-oauth-client-id-metadata-document](https://datatracker.ietf.org/doc/draft-ietf-oauth-client-id-metadata-document/)
 */

import { isJsonObject, type Json } from '../base/json.ts';
import { pinnedPorts } from './callback-port.ts';

export interface DocumentAnswer {
  readonly status: number;
  readonly contentType: string | undefined;
  /** Undefined if the body is not JSON. */
  readonly body: Json | undefined;
}

export interface DocumentFinding {
  readonly code:
    | 'document-unreachable'
    | 'document-redirect'
    | 'document-status'
    | 'document-type'
    | 'document-json'
    | 'document-client-id'
    | 'document-redirects';
  readonly message: string;
}

/** Returns every rule that a document breaks; none if it is valid. */
export function checkDocument(url: string, { status, contentType, body }: DocumentAnswer): readonly DocumentFinding[] {
  const findings: DocumentFinding[] = [];
  const find = (code: DocumentFinding['code'], what: string): void => {
    findings.push({ code, message: `the client metadata document ${url} ${what}` });
  };
  if (status >= 300 && status < 400) {
    find('document-redirect', `answers with a redirect (${status}); serve it at its own address`);
    return findings;
  }
  if (status !== 200) {
    find('document-status', `answers ${status} instead of 200`);
    return findings;
  }
  const type = contentType?.split(';')[0]?.trim().toLowerCase() ?? 'no content type';
  if (type !== 'application/json') find('document-type', `is served as ${type} instead of application/json`);
  if (!isJsonObject(body)) {
    find('document-json', 'is no JSON object');
    return findings;
  }
  if (body.client_id !== url) find('document-client-id', 'does not carry its own address as client_id');
  const declared = Array.isArray(body.redirect_uris) ? body.redirect_uris : [];
  const missing = documentRedirects.filter((uri) => !declared.includes(uri));
  if (missing.length > 0) find('document-redirects', `lacks redirect_uris: ${missing.join(' ')}`);
  return findings;
}

/** The redirects that a document declares: two hosts with each of the five ports. */
export const documentRedirects: readonly string[] = pinnedPorts.flatMap((port) => [
  `http://127.0.0.1:${port}/callback`,
  `http://localhost:${port}/callback`,
]);
