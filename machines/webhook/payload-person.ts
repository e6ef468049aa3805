/**
 * Finds the person who caused an event in its payload, by the providers' field names. The sender's claim: it proves nothing.
 * @see TRU-3 and SEC-7 in docs/specification.md
 */

import { isJsonObject, type Json } from '../base/json.ts';

/** Of GitHub and Gitea, GitLab, Bitbucket, Jira, Linear, Sentry, PagerDuty, Slack and Discord, in this order. */
const places = [
  ['sender', 'login'],
  ['user', 'username'],
  ['user_username'],
  ['actor', 'display_name'],
  ['user', 'displayName'],
  ['actor', 'name'],
  ['event', 'agent', 'summary'],
  ['event', 'user'],
  ['member', 'user', 'username'],
] as const;

/** Returns the name; undefined if the payload has none. */
export function payloadPerson(payload: Json | undefined): string | undefined {
  for (const place of places) {
    let at: Json | undefined = payload;
    for (const step of place) at = isJsonObject(at) && Object.hasOwn(at, step) ? at[step] : undefined;
    if (typeof at === 'string' && at.trim() !== '') return at;
  }
  return undefined;
}
