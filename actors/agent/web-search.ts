/**
 * The tool `web_search`: asks the configured search endpoint over SearXNG's JSON API. The owner chose the endpoint, so it
 * may be private; its results are untrusted text.
 * @see DIS-5 in docs/specification.md
 */

import { cut, isJsonObject, type Json } from '../../machines/base/json.ts';
import { parseJson } from '../../machines/base/read-json.ts';
import type { SearchSettings } from '../../machines/config/settings.ts';
import { stripTags } from '../../machines/mcp/strip-tags.ts';
import { certificateProblem, connectionCause } from '../connection-cause.ts';
import { createStopSignal } from '../stop-signal.ts';
import { throughProxy } from '../through-proxy.ts';
import type { BuiltInTool, ToolAnswer } from './model-loop.ts';

const timeoutMs = 20_000;
const maxBytes = 2_097_152;
const maxResults = 10;
const defaultResults = 5;
const maxSnippetLength = 500;

export function createWebSearch({ baseUrl, apiKey }: SearchSettings): BuiltInTool {
  return {
    offer: {
      name: 'web_search',
      description: 'Searches the web. Returns titles, addresses and snippets; read a page with web_extract.',
      inputSchema: {
        type: 'object',
        properties: {
          query: { type: 'string', description: 'What to search for.' },
          limit: {
            type: 'integer',
            minimum: 1,
            maximum: maxResults,
            description: `How many results; ${defaultResults} unless given.`,
          },
        },
        required: ['query'],
      },
    },
    async call({ query, limit }, signal) {
      if (typeof query !== 'string' || query.trim() === '') return failure('give the query as a text');
      const max = typeof limit === 'number' ? Math.min(maxResults, Math.max(1, Math.floor(limit))) : defaultResults;
      const stop = createStopSignal([signal], timeoutMs);
      let isProxied = false;
      try {
        const url = new URL(`${baseUrl.replace(/\/+$/, '')}/search`);
        url.searchParams.set('q', query);
        url.searchParams.set('format', 'json');
        const route = await throughProxy(url.href);
        if (route.kind === 'unusable') return failure(route.why);
        isProxied = route.isProxied;
        const response = await fetch(url, {
          ...route.init,
          headers: {
            accept: 'application/json',
            ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
          },
          redirect: 'manual',
          signal: stop.signal,
        });
        if (!response.ok) {
          await response.body?.cancel();
          const cure = response.status === 403 ? '; SearXNG needs `json` among its `search.formats`' : '';
          return failure(`the search endpoint answered HTTP ${response.status}${cure}`);
        }
        const found = resultsIn(await boundedText(response));
        if (found === undefined) return failure('the search endpoint answered with what is no list of results');
        return { text: formatResults(found.slice(0, max)), isError: false };
      } catch (thrown) {
        if (signal.aborted) return failure('the run was stopped');
        if (stop.isTimeOver()) return failure(`no answer within ${timeoutMs / 1_000} s`);
        const cause = certificateProblem(thrown, false)?.why ?? connectionCause(thrown, isProxied);
        return failure(`the search endpoint was not reached: ${cause}`);
      } finally {
        stop.release();
      }
    },
  };
}

function failure(why: string): ToolAnswer {
  return { text: `web_search: ${why}`, isError: true };
}

/** Empty, and so no list of results, if the answer is longer than the limit. */
async function boundedText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > maxBytes) return '';
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

interface Found {
  readonly title: string;
  readonly url: string;
  readonly snippet: string;
}

function resultsIn(text: string): readonly Found[] | undefined {
  const body = parseJson(text);
  const results = isJsonObject(body) ? body.results : undefined;
  if (!Array.isArray(results)) return undefined;
  return (results as readonly Json[]).flatMap((one) => {
    if (!isJsonObject(one) || typeof one.url !== 'string') return [];
    return [{ title: plain(one.title), url: plain(one.url), snippet: plain(one.content) }];
  });
}

function plain(value: Json | undefined): string {
  return typeof value === 'string' ? cut(stripTags(value).replace(/\s+/g, ' ').trim(), maxSnippetLength) : '';
}

function formatResults(results: readonly Found[]): string {
  if (results.length === 0) return 'Nothing was found.';
  return results
    .map(({ title, url, snippet }, index) => `${index + 1}. ${title}\n${url}${snippet === '' ? '' : `\n${snippet}`}`)
    .join('\n\n');
}
