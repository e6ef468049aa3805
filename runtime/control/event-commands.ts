/**
 * The commands that search the history of events and follow the matches of a search.
 * @see INS-4 and CLI-3 in docs/specification.md
 */

import type { JsonObject } from '../../machines/base/json.ts';
import { type Commands, daemonOf, ofDaemon, refuse } from './command.ts';
import type { EventSearch } from './contract.ts';

const defaultRows = 100;
const mostRows = 1_000;

export const eventCommands = {
  'events.search': ofDaemon((daemon, params) => {
    const { limit = defaultRows, cursor } = params;
    if (typeof limit !== 'number' || !Number.isInteger(limit) || limit < 0 || limit > mostRows) {
      refuse('params-missing', `limit ${JSON.stringify(limit)} must be a whole number from 0 to ${mostRows}`);
    }
    if (cursor !== undefined && typeof cursor !== 'string') refuse('params-missing', 'cursor must be a text');
    return daemon.events.search({ ...searchOf(params), limit, ...(cursor === undefined ? {} : { cursor }) });
  }),
  'events.follow': (host, params, peer) => {
    const left = new AbortController();
    peer.onEnd(() => left.abort());
    return daemonOf(host).events.follow(searchOf(params), (news) => peer.notify('events.news', news), left.signal);
  },
} satisfies Partial<Commands>;

function searchOf(params: JsonObject): EventSearch {
  const search: Record<string, string> = {};
  for (const name of ['q', 'range']) {
    const value = params[name];
    if (value === undefined) continue;
    if (typeof value !== 'string') return refuse('params-missing', `${name} must be a text`);
    search[name] = value;
  }
  return search;
}
