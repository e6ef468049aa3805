/**
 * Formats a conversation for OpenAI-compatible endpoints and reads the events of their streams.
 * @see DIS-3 and CON-3 in docs/specification.md
 */

import { isJsonObject, type Json, type JsonObject } from '../base/json.ts';
import { parseJson } from '../base/read-json.ts';
import {
  type Asked,
  type Draft,
  type Endpoint,
  extendCall,
  extendText,
  listOf,
  objectOf,
  textOf,
  tokensOf,
} from './model-draft.ts';
import type { ModelQuestion, StopReason, ToolAsk, Turn } from './model-talk.ts';
import { markedTurns, withMark } from './prompt-cache.ts';

export const openAiEndpoint: Endpoint = {
  pathOf: () => '/chat/completions',
  headersOf,
  bodyOf,
  readEvent,
  readWhole,
};

/** OpenAI's own endpoints: their reasoning models reject `max_tokens`, the only name sure to work elsewhere. */
const openAiHost = /^https:\/\/(?:[\w-]+\.)*openai\.(?:com|azure\.com)(?::\d+)?(?:\/|$)/i;

/**
 * These endpoints of Azure take a key by a header of its own, and only an Entra token, which is a JWT, as a bearer token.
 * Its serverless and machine learning endpoints take keys as bearer tokens only.
 */
const azureHost = /^https:\/\/(?:[\w-]+\.)+(?:openai|cognitiveservices|services\.ai)\.azure\.com(?::\d+)?(?:\/|$)/i;

function headersOf(apiKey: string | undefined, baseUrl: string): Readonly<Record<string, string>> {
  if (apiKey === undefined) return {};
  return azureHost.test(baseUrl) && !apiKey.startsWith('eyJ')
    ? { 'api-key': apiKey }
    : { authorization: `Bearer ${apiKey}` };
}

/** OpenRouter passes marks on to Claude; other endpoints may refuse them. */
const markingHost = /^https:\/\/openrouter\.ai(?::\d+)?(?:\/|$)/i;

function bodyOf({ name, maxTokens, baseUrl = '' }: Asked, question: ModelQuestion): JsonObject {
  const { system, turns, tools, temperature, stopSequences } = question;
  const marked = markedTurns(question);
  const marks = markingHost.test(baseUrl) && /claude/i.test(name) && marked.size > 0;
  return {
    model: name,
    stream: true,
    ...(maxTokens === undefined
      ? {}
      : { [openAiHost.test(baseUrl) ? 'max_completion_tokens' : 'max_tokens']: maxTokens }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(stopSequences === undefined ? {} : { stop: stopSequences }),
    stream_options: { include_usage: true },
    messages: [
      ...(system === '' ? [] : lastMarked([{ role: 'system', content: system }], marks)),
      ...turns.flatMap((turn) => lastMarked(messagesOf(turn), marks && marked.has(turn))),
    ],
    ...(tools.length === 0
      ? {}
      : {
          tools: tools.map(({ name, description, inputSchema }) => ({
            type: 'function',
            function: { name, description, parameters: inputSchema },
          })),
        }),
  };
}

function lastMarked(messages: readonly JsonObject[], isMarked: boolean): readonly JsonObject[] {
  const last = messages.at(-1);
  return isMarked && last !== undefined ? [...messages.slice(0, -1), withMark(last)] : messages;
}

function messagesOf(turn: Turn): JsonObject[] {
  switch (turn.role) {
    case 'user': {
      const { text, picture } = turn;
      if (picture === undefined) return [{ role: 'user', content: text }];
      const url = `data:${picture.mediaType};base64,${picture.base64}`;
      const content = [
        { type: 'text', text },
        { type: 'image_url', image_url: { url } },
      ];
      return [{ role: 'user', content }];
    }
    case 'assistant': {
      const { text, calls, reasoning } = turn;
      const thought = thoughtOf(reasoning);
      if (calls.length === 0) return [{ role: 'assistant', content: text, ...thought }];
      const asked = calls.map(({ id, name, argumentsText, extra }) => ({
        id,
        type: 'function',
        function: { name, arguments: JSON.stringify(objectOf(argumentsText)) },
        ...(extra === undefined ? {} : { extra_content: extra }),
      }));
      return [{ role: 'assistant', content: text === '' ? null : text, ...thought, tool_calls: asked }];
    }
    case 'tools':
      return turn.replies.map(({ id, text }) => ({ role: 'tool', tool_call_id: id, content: text }));
  }
}

/** What was thought, in the field in which the endpoint sent it. */
function thoughtOf(reasoning: Json | undefined): JsonObject {
  if (reasoning === undefined) return {};
  if (isJsonObject(reasoning)) return reasoning;
  return { [Array.isArray(reasoning) ? 'reasoning_details' : 'reasoning_content']: reasoning };
}

function readWhole(draft: Draft, body: JsonObject): string {
  const choice = listOf(body.choices)[0];
  if (!isJsonObject(choice)) return '';
  draft.ended = true;
  const message = isJsonObject(choice.message) ? choice.message : {};
  // Each is complete; without an index, those of the same id would be parts of one.
  const calls = listOf(message.tool_calls).map((call, index) => (isJsonObject(call) ? { ...call, index } : call));
  return readEvent(draft, { ...body, choices: [{ ...choice, delta: { ...message, tool_calls: calls } }] });
}

function readEvent(draft: Draft, event: JsonObject): string {
  draft.tokens = tokensOf(draft.tokens, event.usage);
  const choice = listOf(event.choices)[0];
  if (!isJsonObject(choice)) return '';
  const delta = isJsonObject(choice.delta) ? choice.delta : {};
  const { calls } = draft;
  for (const [position, part] of listOf(delta.tool_calls).entries()) {
    if (!isJsonObject(part)) continue;
    const asked = isJsonObject(part.function) ? part.function : {};
    const key = callKey(calls, part, position);
    const call: ToolAsk = {
      id: textOf(part.id),
      name: textOf(asked.name),
      // Some endpoints send the arguments as an object instead of JSON text.
      argumentsText: isJsonObject(asked.arguments) ? JSON.stringify(asked.arguments) : textOf(asked.arguments),
      ...(isJsonObject(part.extra_content) ? { extra: part.extra_content } : {}),
    };
    setAside(calls, key, call);
    extendCall(calls, key, call);
  }
  if (typeof delta.reasoning_content === 'string' && !Array.isArray(draft.reasoning))
    draft.reasoning = textOf(draft.reasoning) + delta.reasoning_content;
  else extendReasoning(draft, textOf(delta.reasoning));
  extendDetails(draft, listOf(delta.reasoning_details));
  const reason = textOf(choice.finish_reason).toLowerCase();
  const [broken] = brokenOff.exec(reason) ?? [];
  if (broken !== undefined) draft.fault = { kind: 'error', type: broken, retryable: true };
  // A refusal in its own field comes with an ordinary reason.
  else if (textOf(delta.refusal) !== '') draft.stop = 'refused';
  else if (draft.stop !== 'refused') draft.stop = stopOf(reason) ?? draft.stop;
  return extendText(draft, Array.isArray(delta.content) ? partsText(delta.content) : delta.content);
}

/** Mistral's reasoning models answer in parts, of which only the texts are the answer. */
function partsText(parts: readonly Json[]): string {
  return parts.map((part) => (isJsonObject(part) && part.type === 'text' ? textOf(part.text) : '')).join('');
}

/** The field of vLLM, Ollama and Groq, which others send beside one of their own. */
function extendReasoning(draft: Draft, piece: string): void {
  const { reasoning } = draft;
  if (piece === '' || (reasoning !== null && !isJsonObject(reasoning))) return;
  draft.reasoning = { reasoning: textOf(reasoning?.reasoning) + piece };
}

/** OpenRouter's form of what a model thinks, whose texts come in parts; without it Gemini refuses its own calls. */
function extendDetails(draft: Draft, parts: readonly Json[]): void {
  if (parts.length === 0) return;
  const details: Json[] = Array.isArray(draft.reasoning) ? draft.reasoning : [];
  draft.reasoning = details;
  for (const part of parts) {
    const last = details.at(-1) ?? null;
    const [, text] = /^reasoning\.(text|summary)$/.exec(isJsonObject(part) ? textOf(part.type) : '') ?? [];
    const goesOn = text !== undefined && isJsonObject(part) && isJsonObject(last) && typeof part.index === 'number';
    if (!goesOn || last.type !== part.type || last.index !== part.index) {
      details.push(part);
      continue;
    }
    const given = Object.entries(part).filter(([, value]) => value !== null);
    details[details.length - 1] = {
      ...last,
      ...Object.fromEntries(given),
      [text]: textOf(last[text]) + textOf(part[text]),
    };
  }
}

/** Parts of one call share an index; an endpoint without indexes sends each call complete, with its own id. */
function callKey(calls: ReadonlyMap<string, ToolAsk>, part: JsonObject, position: number): string {
  if (typeof part.index === 'number') return String(part.index);
  return textOf(part.id) === '' ? `whole/${calls.size}/${position}` : `id/${textOf(part.id)}`;
}

/**
 * Frees the key of a call that has ended: Gemini's endpoint and others give all calls of an answer the same index. A part
 * that continues a call has its id, none, or a placeholder for it and no name. Without ids, a named part that is an object
 * is another call where it follows the end of one: no JSON has two of them side by side.
 */
function setAside(calls: Map<string, ToolAsk>, key: string, { id, name, argumentsText }: ToolAsk): void {
  const standing = calls.get(key);
  if (standing === undefined || name === '') return;
  const isOther =
    id === ''
      ? isJsonObject(parseJson(argumentsText)) && standing.argumentsText.endsWith('}')
      : standing.id !== '' && standing.id !== id;
  if (!isOther) return;
  calls.delete(key);
  calls.set(`${key}/${calls.size}`, standing);
}

/** Refusals by the names of Gemini, which its OpenAI-compatible endpoint may pass on. */
const filtered = /^content_filter|^(?:safety|recitation|blocklist|prohibited_content|spii)$/;
/** Of OpenRouter and Mistral, DeepSeek, and Gemini: the answer is not complete, and another attempt may succeed. */
const brokenOff =
  /^error$|^insufficient_system_resource$|malformed_function_call|unexpected_tool_call|malformed_response/;

function stopOf(reason: string): StopReason | null {
  switch (reason) {
    case '':
      return null;
    case 'tool_calls':
    case 'function_call':
      return 'calls';
    case 'length':
    case 'model_length':
    case 'max_tokens':
      return 'cut';
    default:
      return filtered.test(reason) ? 'refused' : 'ended';
  }
}
