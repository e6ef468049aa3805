/**
 * Selects the endpoint format by the provider in the settings, and reads what both formats share: the end of a stream and
 * errors.
 * @see DIS-3 and CON-3 in docs/specification.md
 */

import { isJsonObject, type Json, type JsonObject } from '../base/json.ts';
import { parseJson } from '../base/read-json.ts';
import type { ModelSettings } from '../config/settings.ts';
import { anthropicEndpoint } from './anthropic-endpoint.ts';
import { type Asked, type Draft, type Endpoint, faultOf } from './model-draft.ts';
import type { ModelQuestion } from './model-talk.ts';
import { openAiEndpoint } from './openai-endpoint.ts';

export type Provider = ModelSettings['provider'];

const endpoints: Readonly<Record<Provider, Endpoint>> = {
  anthropic: anthropicEndpoint,
  'openai-compatible': openAiEndpoint,
};

/** The URL and the headers of every request. The headers contain the key. */
export function requestAddress({ provider, baseUrl, apiKey }: Pick<ModelSettings, 'provider' | 'baseUrl' | 'apiKey'>) {
  const { pathOf, headersOf } = endpoints[provider];
  // A query, such as Azure's api-version, stays behind the path.
  const [, path = '', query = ''] = /^([^?#]*)(\?[^#]*)?/.exec(baseUrl) ?? [];
  const base = path.replace(/\/+$/, '');
  return {
    url: `${base}${pathOf(base)}${query}`,
    headers: { 'content-type': 'application/json', ...headersOf(apiKey, base) },
  };
}

/** The body of a request for a streamed answer. */
export function requestBody(model: Asked & Pick<ModelSettings, 'provider'>, question: ModelQuestion): JsonObject {
  return endpoints[model.provider].bodyOf(model, question);
}

/** Adds one stream event, given as text, to the draft. Returns the text that it added. */
export function readEvent(provider: Provider, draft: Draft, data: string): string {
  if (data.trim() === '[DONE]') {
    // Some endpoints end without a stop reason: what has arrived is the answer.
    draft.stop ??= draft.calls.size > 0 ? 'calls' : draft.text === '' ? null : 'ended';
    draft.ended = true;
    return '';
  }
  const event = parseJson(data);
  // The gap would not show in a text, nor in the arguments of a call. Nothing of the answer follows its stop reason.
  if (event === undefined && draft.stop === null && /^\s*\{/.test(data)) draft.fault ??= { kind: 'torn' };
  if (!isJsonObject(event)) return '';
  if (isError(event.error) || event.type === 'error') {
    draft.fault = faultOf(event.error);
    return '';
  }
  return endpoints[provider].readEvent(draft, event);
}

/** Adds the complete answer of an endpoint that does not stream although it was asked to. Returns the text that it added. */
export function readWhole(provider: Provider, draft: Draft, body: Json): string {
  if (!isJsonObject(body)) return '';
  if (!isError(body.error)) return endpoints[provider].readWhole(draft, body);
  draft.fault = faultOf(body.error);
  return '';
}

/** Some local servers give the message alone. */
function isError(error: Json | undefined): boolean {
  return isJsonObject(error) || (typeof error === 'string' && error !== '');
}
