/**
 * The tool `web_search`: asks the configured search endpoint. The owner chose the endpoint, so it may be private; its
 * results are untrusted text.
 * @see DIS-5 in docs/specification.md
 */

import { resultsIn, searchCure, searchRequest } from '../../machines/agent/search-endpoint.ts';
import { cut, type Json } from '../../machines/base/json.ts';
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

export function createWebSearch(endpoint: SearchSettings): BuiltInTool {
  const { provider } = endpoint;
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
        const { url, headers, body } = searchRequest(endpoint, query, max);
        const route = await throughProxy(url);
        if (route.kind === 'unusable') return failure(route.why);
        isProxied = route.isProxied;
        const response = await fetch(url, {
          ...route.init,
          headers,
          ...(body && { method: 'POST', body: JSON.stringify(body) }),
          redirect: 'manual',
          signal: stop.signal,
        });
        if (!response.ok) {
          await response.body?.cancel();
          const { status } = response;
          return failure(`the search endpoint answered HTTP ${status}${searchCure(provider, status)}`);
        }
        const found = resultsIn(provider, parseJson(await boundedText(response)));
        if (found === undefined) return failure('the search endpoint answered with what is no list of results');
        if (found.length === 0) return { text: 'Nothing was found.', isError: false };
        const shown = found.slice(0, max).map(({ title, url, snippet }, index) => {
          const lines = [`${index + 1}. ${plain(title)}`, plain(url), plain(snippet)];
          return lines.filter((line) => line !== '').join('\n');
        });
        return { text: shown.join('\n\n'), isError: false };
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

function plain(value: Json | undefined): string {
  return typeof value === 'string' ? cut(stripTags(value).replace(/\s+/g, ' ').trim(), maxSnippetLength) : '';
}
