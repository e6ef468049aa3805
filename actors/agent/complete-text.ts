/**
 * Asks a model endpoint for one text: the OpenAI-compatible chat completions, or Anthropic's messages. No streaming and no
 * tools: a server's sampling request needs neither.
 * @see SRV-2 and CON-3 in docs/specification.md
 */

import { causeOf } from '../../machines/base/fault.ts';
import { isJsonObject, type Json, type JsonObject } from '../../machines/base/json.ts';
import type { ModelSettings } from '../../machines/config/settings.ts';
import { modelEndpoint } from './model-endpoint.ts';

export interface TextRequest {
  readonly model: ModelSettings;
  /** Another model of the same endpoint. */
  readonly name?: string;
  readonly system?: string;
  readonly messages: readonly { readonly role: 'user' | 'assistant'; readonly text: string }[];
  readonly maxTokens: number;
  readonly temperature?: number;
}

export type TextVerdict =
  | { readonly kind: 'made'; readonly text: string; readonly model: string; readonly stopReason: string }
  | { readonly kind: 'failed'; readonly why: string };

/** Never rejects. */
export async function completeText(request: TextRequest, signal: AbortSignal): Promise<TextVerdict> {
  const { model, name = model.name } = request;
  const isAnthropic = model.provider === 'anthropic';
  const { url, headers } = modelEndpoint(model);
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers,
      body: JSON.stringify(isAnthropic ? anthropicBody(request, name) : openAiBody(request, name)),
      // A key must not follow a redirect to another host.
      redirect: 'manual',
      signal,
    });
    if (!response.ok) {
      await response.body?.cancel();
      return { kind: 'failed', why: `the model endpoint answered HTTP ${response.status}; check agent.model` };
    }
    const answer = (await response.json()) as Json;
    const read = isJsonObject(answer) ? (isAnthropic ? anthropicText(answer) : openAiText(answer)) : undefined;
    if (read === undefined) return { kind: 'failed', why: 'the model endpoint answered without a text' };
    return {
      kind: 'made',
      ...read,
      model: typeof (answer as JsonObject).model === 'string' ? String((answer as JsonObject).model) : name,
    };
  } catch (thrown) {
    return { kind: 'failed', why: `the model endpoint cannot be asked: ${causeOf(thrown)}` };
  }
}

function anthropicBody({ system, messages, maxTokens, temperature }: TextRequest, model: string): JsonObject {
  return {
    model,
    max_tokens: maxTokens,
    ...(system === undefined ? {} : { system }),
    ...(temperature === undefined ? {} : { temperature }),
    messages: messages.map(({ role, text }) => ({ role, content: text })),
  };
}

function openAiBody({ system, messages, maxTokens, temperature }: TextRequest, model: string): JsonObject {
  return {
    model,
    max_tokens: maxTokens,
    ...(temperature === undefined ? {} : { temperature }),
    messages: [
      ...(system === undefined ? [] : [{ role: 'system', content: system }]),
      ...messages.map(({ role, text }) => ({ role, content: text })),
    ],
  };
}

function anthropicText(answer: JsonObject): { text: string; stopReason: string } | undefined {
  if (!Array.isArray(answer.content)) return undefined;
  const text = (answer.content as readonly Json[])
    .map((block) => (isJsonObject(block) && block.type === 'text' ? String(block.text) : ''))
    .join('');
  return { text, stopReason: answer.stop_reason === 'max_tokens' ? 'maxTokens' : 'endTurn' };
}

function openAiText(answer: JsonObject): { text: string; stopReason: string } | undefined {
  const choice = Array.isArray(answer.choices) ? (answer.choices as readonly Json[])[0] : undefined;
  const message = isJsonObject(choice) ? choice.message : undefined;
  if (!isJsonObject(choice) || !isJsonObject(message) || typeof message.content !== 'string') return undefined;
  return { text: message.content, stopReason: choice.finish_reason === 'length' ? 'maxTokens' : 'endTurn' };
}
