/**
 * The URL and headers of a model endpoint, the same for every request. Sends nothing.
 * @see CON-3 in docs/specification.md
 */

import type { ModelSettings } from '../../machines/config/settings.ts';

export interface ModelEndpoint {
  readonly url: string;
  /** Secret: they contain the key. */
  readonly headers: Readonly<Record<string, string>>;
}

const anthropicVersion = '2023-06-01';

export function modelEndpoint({ provider, baseUrl, apiKey }: ModelSettings): ModelEndpoint {
  // A query, such as Azure's api-version, stays behind the path.
  const [, path = '', query = ''] = /^([^?#]*)(\?[^#]*)?/.exec(baseUrl) ?? [];
  const base = path.replace(/\/+$/, '');
  const headers = { 'content-type': 'application/json' };
  if (provider === 'openai-compatible') {
    const key: Record<string, string> = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
    return { url: `${base}/chat/completions${query}`, headers: { ...headers, ...key } };
  }
  const key: Record<string, string> = apiKey === undefined ? {} : { 'x-api-key': apiKey };
  return {
    // Anthropic's own tools take the base URL without the version; other clients take it with `/v1`.
    url: `${base}${base.endsWith('/v1') ? '' : '/v1'}/messages${query}`,
    headers: { ...headers, 'anthropic-version': anthropicVersion, ...key },
  };
}
