/**
 * Formats a conversation for Anthropic's endpoint and reads the events of its stream.
 * @see DIS-3 and CON-3 in docs/specification.md
 */

import { isJsonObject, type Json, type JsonObject, scalarText } from '../base/json.ts';
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
import type { ModelQuestion, StopReason, Turn } from './model-talk.ts';
import { markedTurns, withMark } from './prompt-cache.ts';

const version = '2023-06-01';

export const anthropicEndpoint: Endpoint = {
  // Anthropic's own tools take the base URL without the version; other clients take it with `/v1`.
  pathOf: (base) => `${base.endsWith('/v1') ? '' : '/v1'}/messages`,
  headersOf: (apiKey) => ({ 'anthropic-version': version, ...(apiKey !== undefined && { 'x-api-key': apiKey }) }),
  bodyOf,
  readEvent,
  readWhole,
};

/** The endpoint requires a limit, which counts what the model thinks too. Other makers' endpoints allow less. */
const defaultMaxTokens = 8_192;
/** Each model of Anthropic's own endpoint allows this, and its newest ones always think. */
const ownMaxTokens = 32_000;
const ownHost = /^https:\/\/api\.anthropic\.com(?::\d+)?(?:\/|$)/i;

function bodyOf({ name, maxTokens, baseUrl = '' }: Asked, question: ModelQuestion): JsonObject {
  const { system, turns, tools, temperature, stopSequences } = question;
  const marked = markedTurns(question);
  return {
    model: name,
    stream: true,
    max_tokens: maxTokens ?? (ownHost.test(baseUrl) ? ownMaxTokens : defaultMaxTokens),
    ...(temperature === undefined ? {} : { temperature }),
    ...(stopSequences === undefined ? {} : { stop_sequences: stopSequences }),
    // Its mark covers the tools too, which the endpoint reads before it.
    ...(system === '' ? {} : marked.size === 0 ? { system } : { system: withMark({ content: system }).content }),
    messages: turns.map((turn) => (marked.has(turn) ? withMark(messageOf(turn)) : messageOf(turn))),
    ...(tools.length === 0
      ? {}
      : {
          tools: tools.map(({ name, description, inputSchema }) => ({ name, description, input_schema: inputSchema })),
        }),
  };
}

function messageOf(turn: Turn): JsonObject {
  switch (turn.role) {
    case 'user': {
      const { text, picture } = turn;
      if (picture === undefined) return { role: 'user', content: text };
      const source = { type: 'base64', media_type: picture.mediaType, data: picture.base64 };
      return {
        role: 'user',
        content: [
          { type: 'image', source },
          { type: 'text', text },
        ],
      };
    }
    case 'assistant': {
      const { text, calls, reasoning } = turn;
      const thoughts = listOf(reasoning).filter(isJsonObject);
      const used = calls.map(({ id, name, argumentsText }) => ({
        type: 'tool_use',
        id,
        name,
        input: objectOf(argumentsText),
      }));
      const blocks: readonly JsonObject[] = [
        ...thoughts.flatMap((block) =>
          block.type === 'tool_use' ? used.filter(({ id }) => id === block.id) : [block],
        ),
        ...restOf({ text, calls: used, thoughts }),
      ];
      // The endpoint rejects blank text blocks.
      const content = blocks.filter(({ type, text }) => type !== 'text' || scalarText(text).trim() !== '');
      return { role: 'assistant', content };
    }
    case 'tools':
      return {
        role: 'user',
        content: turn.replies.map(({ id, text, isError }) => ({
          type: 'tool_result',
          tool_use_id: id,
          content: text,
          ...(isError ? { is_error: true } : {}),
        })),
      };
  }
}

function readWhole(draft: Draft, body: JsonObject): string {
  draft.stop = stopOf(body.stop_reason);
  draft.tokens = tokensOf(draft.tokens, body.usage);
  draft.ended = true;
  return listOf(body.content)
    .map((block, index) => readBlock(draft, index, block, true))
    .join('');
}

function readEvent(draft: Draft, event: JsonObject): string {
  switch (event.type) {
    case 'message_start':
      if (isJsonObject(event.message)) draft.tokens = tokensOf(draft.tokens, event.message.usage);
      return '';
    case 'content_block_start':
      return readBlock(draft, event.index ?? null, event.content_block ?? null, false);
    case 'content_block_delta': {
      const { delta } = event;
      if (!isJsonObject(delta)) return '';
      if (delta.type === 'text_delta') return extendText(draft, delta.text);
      if (delta.type === 'thinking_delta') extendThought(draft, 'thinking', delta.thinking);
      if (delta.type === 'signature_delta') extendThought(draft, 'signature', delta.signature);
      const key = scalarText(event.index);
      if (delta.type === 'input_json_delta' && draft.calls.has(key)) {
        extendCall(draft.calls, key, { id: '', name: '', argumentsText: textOf(delta.partial_json) });
      }
      return '';
    }
    case 'message_delta': {
      const { delta } = event;
      draft.stop = (isJsonObject(delta) ? stopOf(delta.stop_reason) : null) ?? draft.stop;
      draft.tokens = tokensOf(draft.tokens, event.usage);
      return '';
    }
    case 'message_stop':
      draft.ended = true;
      return '';
    default:
      return '';
  }
}

/** A streamed block starts with an empty input that its deltas fill; a complete answer's block has its own. */
function readBlock(draft: Draft, index: Json, block: Json, whole: boolean): string {
  if (!isJsonObject(block)) return '';
  if (block.type === 'text') return extendText(draft, block.text);
  if (block.type === 'thinking' || block.type === 'redacted_thinking') {
    const thoughts = listOf(draft.reasoning).filter(isJsonObject);
    const calls = [...draft.calls.values()].map(({ id }) => ({ type: 'tool_use', id }));
    draft.reasoning = [...thoughts, ...restOf({ text: draft.text, calls, thoughts }), block];
  }
  if (block.type !== 'tool_use') return '';
  const given = isJsonObject(block.input) && (whole || Object.keys(block.input).length > 0);
  const argumentsText = given ? JSON.stringify(block.input) : '';
  extendCall(draft.calls, scalarText(index), { id: textOf(block.id), name: textOf(block.name), argumentsText });
  return '';
}

interface Answered {
  readonly text: string;
  readonly calls: readonly (JsonObject & { readonly id: string })[];
  /** The thinking blocks, each behind the texts and calls that preceded it (of a call, only its id): elsewhere it is invalid. */
  readonly thoughts: readonly JsonObject[];
}

/** The texts and calls after the last thinking block. */
function restOf({ text, calls, thoughts }: Answered): readonly JsonObject[] {
  const said = thoughts.reduce((length, block) => length + (block.type === 'text' ? textOf(block.text).length : 0), 0);
  const later = text.slice(said);
  const asked = calls.filter(({ id }) => !thoughts.some((block) => block.type === 'tool_use' && block.id === id));
  return [...(later === '' ? [] : [{ type: 'text', text: later }]), ...asked];
}

function extendThought(draft: Draft, key: 'thinking' | 'signature', piece: Json | undefined): void {
  const blocks = listOf(draft.reasoning);
  const last = blocks.at(-1);
  if (!isJsonObject(last)) return;
  draft.reasoning = [...blocks.slice(0, -1), { ...last, [key]: textOf(last[key]) + textOf(piece) }];
}

function stopOf(reason: Json | undefined): StopReason | null {
  switch (reason) {
    case undefined:
    case null:
      return null;
    case 'tool_use':
      return 'calls';
    case 'max_tokens':
    case 'model_context_window_exceeded':
      return 'cut';
    case 'refusal':
      return 'refused';
    default:
      return 'ended';
  }
}
