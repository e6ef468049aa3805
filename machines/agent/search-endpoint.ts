/**
 * How each kind of search endpoint is asked, and where its answer has the results. All are reached at `/search` of their
 * base URL.
 * @see DIS-5 in docs/specification.md
 */

import { cut, isJsonObject, type Json, type JsonObject } from '../base/json.ts';
import type { SearchSettings } from '../config/settings.ts';

interface SearchRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Absent: a GET. */
  readonly body?: JsonObject;
}

interface SearchEndpoint {
  /** Where the address has the query and the number of results; absent: the body has them. */
  readonly query?: (query: string, max: number) => Readonly<Record<string, string>>;
  readonly body?: (query: string, max: number) => JsonObject;
  readonly key: (apiKey: string) => Readonly<Record<string, string>>;
  readonly results: (body: JsonObject) => Json | undefined;
  readonly snippet: (result: JsonObject) => Json | undefined;
}

const bearer = (apiKey: string) => ({ authorization: `Bearer ${apiKey}` });
const results = (body: JsonObject) => body.results;

/** Brave and Tavily refuse a longer query, Brave also one of more words. */
const maxQueryLength = 400;
const maxQueryWords = 50;

const endpoints: Readonly<Record<SearchSettings['provider'], SearchEndpoint>> = {
  searxng: { query: (q) => ({ q, format: 'json' }), key: bearer, results, snippet: ({ content }) => content },
  brave: {
    query: (text, max) => {
      const q = text.trim().split(/\s+/).slice(0, maxQueryWords).join(' ');
      return { q: cut(q, maxQueryLength), count: String(max), text_decorations: 'false' };
    },
    key: (apiKey) => ({ 'x-subscription-token': apiKey }),
    // A search without hits has no `web`.
    results: ({ type, web }) => (isJsonObject(web) ? web.results : type === 'search' ? [] : undefined),
    snippet: ({ description }) => description,
  },
  tavily: {
    body: (query, max) => ({ query: cut(query, maxQueryLength), max_results: max }),
    key: bearer,
    results,
    snippet: ({ content }) => content,
  },
  exa: {
    body: (query, max) => ({ query, numResults: max, contents: { highlights: true } }),
    key: (apiKey) => ({ 'x-api-key': apiKey }),
    results,
    snippet: ({ highlights }) => (Array.isArray(highlights) ? highlights.filter(isText).join(' … ') : undefined),
  },
};

/** The request for at most `max` results; the headers contain the key. */
export function searchRequest({ provider, baseUrl, apiKey }: SearchSettings, text: string, max: number): SearchRequest {
  const { query, body, key } = endpoints[provider];
  const asked = query === undefined ? '' : `?${new URLSearchParams(query(text, max)).toString()}`;
  return {
    url: `${baseUrl.replace(/\/+$/, '')}/search${asked}`,
    headers: {
      accept: 'application/json',
      ...(body && { 'content-type': 'application/json' }),
      ...(apiKey !== undefined && key(apiKey)),
    },
    ...(body && { body: body(text, max) }),
  };
}

interface Found {
  readonly title: Json | undefined;
  readonly url: string;
  readonly snippet: Json | undefined;
}

/** The results of an answer; undefined if it has no list of them. Results without an address are left out. */
export function resultsIn(provider: SearchSettings['provider'], body: Json | undefined): readonly Found[] | undefined {
  const endpoint = endpoints[provider];
  const found = isJsonObject(body) ? endpoint.results(body) : undefined;
  if (!Array.isArray(found)) return undefined;
  return (found as readonly Json[]).flatMap((one) =>
    isJsonObject(one) && isText(one.url) ? [{ title: one.title, url: one.url, snippet: endpoint.snippet(one) }] : [],
  );
}

function isText(value: Json | undefined): value is string {
  return typeof value === 'string';
}

/** What helps where an endpoint refuses; empty if the status says nothing more. */
export function searchCure(provider: SearchSettings['provider'], status: number): string {
  if ([402, 429, 432, 433].includes(status)) return '; its rate or quota is used up';
  if (provider === 'searxng') return status === 403 ? '; SearXNG needs `json` among its `search.formats`' : '';
  return [401, 403, 422].includes(status) ? '; check agent.web_search.api_key' : '';
}
