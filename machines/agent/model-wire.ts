/**
 * What the two kinds of model endpoint say, in one shape: a conversation as either wants it, and the events of either's
 * stream gathered into an answer. Knows no socket, no tool and no limit.
 * @see DIS-3 and CON-3 in docs/specification.md
 */

import { isJsonObject, type Json, type JsonObject } from '../base/json.ts';
import type { ModelSettings } from '../config/settings.ts';

export type Provider = ModelSettings['provider'];

/** A tool as a model is offered it. */
export interface ToolOffer {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
}

/** A model asks for a tool; the arguments are its text, which need not be JSON. */
export interface ToolAsk {
  readonly id: string;
  readonly name: string;
  readonly argumentsText: string;
}

export interface ToolReply {
  readonly id: string;
  readonly text: string;
  readonly isError: boolean;
}

export interface Picture {
  readonly mediaType: string;
  readonly base64: string;
}

export type Turn =
  | { readonly role: 'user'; readonly text: string; readonly picture?: Picture }
  | { readonly role: 'assistant'; readonly text: string; readonly calls: readonly ToolAsk[] }
  | { readonly role: 'tools'; readonly replies: readonly ToolReply[] };

export interface Question {
  /** Empty: none. */
  readonly system: string;
  readonly turns: readonly Turn[];
  readonly tools: readonly ToolOffer[];
  /** Left out: as the endpoint likes. */
  readonly temperature?: number;
}

export interface Tokens {
  readonly input: number;
  readonly output: number;
}

/** `cut`: the token limit came first. `refused`: the model or its filter would not. */
export type StopReason = 'ended' | 'calls' | 'cut' | 'refused';

export interface ModelAnswer {
  readonly text: string;
  readonly calls: readonly ToolAsk[];
  readonly stop: StopReason;
  readonly tokens: Tokens;
}

/** An answer as far as it has come. */
export interface Draft {
  readonly text: string;
  readonly calls: ReadonlyMap<string, ToolAsk>;
  readonly stop: StopReason | null;
  readonly tokens: Tokens;
  /** The endpoint said that nothing follows. */
  readonly ended: boolean;
  /** The endpoint gave up in mid-stream. */
  readonly fault: StreamFault | null;
}

export interface StreamFault {
  /** The endpoint's name for it: a word, never its message. */
  readonly type: string;
  readonly passing: boolean;
}

export const noTokens: Tokens = { input: 0, output: 0 };
export const emptyDraft: Draft = {
  text: '',
  calls: new Map(),
  stop: null,
  tokens: noTokens,
  ended: false,
  fault: null,
};

/** Anthropic's endpoint wants a limit; every model that it offers today allows this one. */
const usualMaxTokens = 8_192;
const emptyArguments = '{}';

/** The body of a request for a streamed answer. */
export function requestBody(model: Asked, question: Question): JsonObject {
  return model.provider === 'anthropic' ? anthropicBody(model, question) : openAiBody(model, question);
}

/** What of the settings a request's body says. */
type Asked = Pick<ModelSettings, 'provider' | 'name' | 'maxTokens'>;

function openAiBody({ name, maxTokens }: Asked, { system, turns, tools, temperature }: Question): JsonObject {
  return {
    model: name,
    stream: true,
    ...(maxTokens === undefined ? {} : { max_tokens: maxTokens }),
    ...(temperature === undefined ? {} : { temperature }),
    stream_options: { include_usage: true },
    messages: [...(system === '' ? [] : [{ role: 'system', content: system }]), ...turns.flatMap(openAiMessages)],
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

function openAiMessages(turn: Turn): JsonObject[] {
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
      const { text, calls } = turn;
      if (calls.length === 0) return [{ role: 'assistant', content: text }];
      const asked = calls.map(({ id, name, argumentsText }) => ({
        id,
        type: 'function',
        function: { name, arguments: JSON.stringify(objectOf(argumentsText)) },
      }));
      return [{ role: 'assistant', content: text === '' ? null : text, tool_calls: asked }];
    }
    case 'tools':
      return turn.replies.map(({ id, text }) => ({ role: 'tool', tool_call_id: id, content: text }));
  }
}

function anthropicBody({ name, maxTokens }: Asked, { system, turns, tools, temperature }: Question): JsonObject {
  return {
    model: name,
    stream: true,
    max_tokens: maxTokens ?? usualMaxTokens,
    ...(temperature === undefined ? {} : { temperature }),
    ...(system === '' ? {} : { system }),
    messages: turns.map(anthropicMessage),
    ...(tools.length === 0
      ? {}
      : {
          tools: tools.map(({ name, description, inputSchema }) => ({ name, description, input_schema: inputSchema })),
        }),
  };
}

function anthropicMessage(turn: Turn): JsonObject {
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
      const { text, calls } = turn;
      const used = calls.map(({ id, name, argumentsText }) => ({
        type: 'tool_use',
        id,
        name,
        input: objectOf(argumentsText),
      }));
      // The endpoint refuses a block of blank text.
      return { role: 'assistant', content: [...(text.trim() === '' ? [] : [{ type: 'text', text }]), ...used] };
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

/** An endpoint refuses a conversation in which arguments are no object, so malformed ones go back as none. */
function objectOf(text: string): JsonObject {
  const parsed = parse(text);
  return isJsonObject(parsed) ? parsed : {};
}

/** Takes one event of a stream in. What is not known is passed over: endpoints add events. */
export function readEvent(provider: Provider, draft: Draft, data: string): Draft {
  if (data.trim() === '[DONE]') return { ...draft, ended: true };
  const event = parse(data);
  if (!isJsonObject(event)) return draft;
  if (isJsonObject(event.error) || event.type === 'error') return { ...draft, fault: faultOf(event.error) };
  return provider === 'anthropic' ? readAnthropic(draft, event) : readOpenAi(draft, event);
}

/** Reads the answer of an endpoint that does not stream although it was asked to. */
export function readWhole(provider: Provider, body: Json): Draft {
  if (!isJsonObject(body)) return emptyDraft;
  if (isJsonObject(body.error)) return { ...emptyDraft, fault: faultOf(body.error) };
  if (provider === 'anthropic') {
    const started = listOf(body.content).reduce<Draft>(
      (draft, block, index) => anthropicBlock(draft, index, block, true),
      emptyDraft,
    );
    return {
      ...started,
      stop: anthropicStop(body.stop_reason),
      tokens: tokensOf(started.tokens, body.usage),
      ended: true,
    };
  }
  const choice = listOf(body.choices)[0];
  if (!isJsonObject(choice)) return emptyDraft;
  return {
    ...readOpenAi(emptyDraft, { ...body, choices: [{ ...choice, delta: choice.message ?? null }] }),
    ended: true,
  };
}

/** The answer that a draft amounts to; undefined while the endpoint has not said that it is whole. */
export function answerOf(draft: Draft): ModelAnswer | undefined {
  if (draft.stop === null) return undefined;
  return { text: draft.text, calls: withIds([...draft.calls.values()]), stop: draft.stop, tokens: draft.tokens };
}

function readOpenAi(draft: Draft, event: JsonObject): Draft {
  const tokens = tokensOf(draft.tokens, event.usage);
  const choice = listOf(event.choices)[0];
  if (!isJsonObject(choice)) return { ...draft, tokens };
  const delta = isJsonObject(choice.delta) ? choice.delta : {};
  const calls = new Map(draft.calls);
  for (const [position, part] of listOf(delta.tool_calls).entries()) {
    if (!isJsonObject(part)) continue;
    const asked = isJsonObject(part.function) ? part.function : {};
    extendCall(calls, callKey(calls, part, position), {
      id: textOf(part.id),
      name: textOf(asked.name),
      // Some endpoints send the arguments as the object that they spell.
      argumentsText: isJsonObject(asked.arguments) ? JSON.stringify(asked.arguments) : textOf(asked.arguments),
    });
  }
  return {
    ...draft,
    text: draft.text + textOf(delta.content),
    calls,
    stop: openAiStop(choice.finish_reason) ?? draft.stop,
    tokens,
  };
}

/** Parts of one call share an index; an endpoint that gives none sends each call whole, with an id of its own. */
function callKey(calls: ReadonlyMap<string, ToolAsk>, part: JsonObject, position: number): string {
  if (typeof part.index === 'number') return String(part.index);
  return textOf(part.id) === '' ? `whole/${calls.size}/${position}` : `id/${textOf(part.id)}`;
}

function readAnthropic(draft: Draft, event: JsonObject): Draft {
  switch (event.type) {
    case 'message_start':
      return isJsonObject(event.message) ? { ...draft, tokens: tokensOf(draft.tokens, event.message.usage) } : draft;
    case 'content_block_start':
      return anthropicBlock(draft, event.index ?? null, event.content_block ?? null, false);
    case 'content_block_delta': {
      const { delta } = event;
      if (!isJsonObject(delta)) return draft;
      if (delta.type === 'text_delta') return { ...draft, text: draft.text + textOf(delta.text) };
      if (delta.type !== 'input_json_delta') return draft;
      const calls = new Map(draft.calls);
      const key = String(event.index);
      if (!calls.has(key)) return draft;
      extendCall(calls, key, { id: '', name: '', argumentsText: textOf(delta.partial_json) });
      return { ...draft, calls };
    }
    case 'message_delta': {
      const { delta } = event;
      return {
        ...draft,
        stop: (isJsonObject(delta) ? anthropicStop(delta.stop_reason) : null) ?? draft.stop,
        tokens: tokensOf(draft.tokens, event.usage),
      };
    }
    case 'message_stop':
      return { ...draft, ended: true };
    default:
      return draft;
  }
}

/** A block that starts has an empty input, which its deltas spell; the block of a whole answer has its own. */
function anthropicBlock(draft: Draft, index: Json, block: Json, whole: boolean): Draft {
  if (!isJsonObject(block)) return draft;
  if (block.type === 'text') return { ...draft, text: draft.text + textOf(block.text) };
  if (block.type !== 'tool_use') return draft;
  const given = isJsonObject(block.input) && (whole || Object.keys(block.input).length > 0);
  const calls = new Map(draft.calls);
  const argumentsText = given ? JSON.stringify(block.input) : '';
  extendCall(calls, String(index), { id: textOf(block.id), name: textOf(block.name), argumentsText });
  return { ...draft, calls };
}

function extendCall(calls: Map<string, ToolAsk>, key: string, part: ToolAsk): void {
  const standing = calls.get(key) ?? { id: '', name: '', argumentsText: '' };
  calls.set(key, {
    id: standing.id === '' ? part.id : standing.id,
    // Some endpoints repeat the name in every part.
    name: standing.name === '' ? part.name : standing.name,
    argumentsText: standing.argumentsText + part.argumentsText,
  });
}

/** Replies are matched to calls by id, so each call gets one of its own where the endpoint gave none or one twice. */
function withIds(calls: readonly ToolAsk[]): readonly ToolAsk[] {
  const taken = new Set<string>();
  return calls.map((call, index) => {
    let { id } = call;
    for (let turn = 0; id === '' || taken.has(id); turn += 1) id = `call_${index}${turn === 0 ? '' : `_${turn}`}`;
    taken.add(id);
    return {
      id,
      name: call.name,
      argumentsText: call.argumentsText.trim() === '' ? emptyArguments : call.argumentsText,
    };
  });
}

function openAiStop(reason: Json | undefined): StopReason | null {
  switch (reason) {
    case undefined:
    case null:
    case '':
      return null;
    case 'tool_calls':
    case 'function_call':
      return 'calls';
    case 'length':
      return 'cut';
    case 'content_filter':
      return 'refused';
    default:
      return 'ended';
  }
}

function anthropicStop(reason: Json | undefined): StopReason | null {
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

/** Each provider's names; a later count replaces an earlier one, for both count from the start. */
function tokensOf(standing: Tokens, usage: Json | undefined): Tokens {
  if (!isJsonObject(usage)) return standing;
  const cached = [usage.cache_creation_input_tokens, usage.cache_read_input_tokens].map((one) => countOf(one) ?? 0);
  const fresh = countOf(usage.input_tokens);
  const input =
    countOf(usage.prompt_tokens) ?? (fresh === undefined ? undefined : cached.reduce((sum, one) => sum + one, fresh));
  const output = countOf(usage.completion_tokens) ?? countOf(usage.output_tokens);
  return { input: input ?? standing.input, output: output ?? standing.output };
}

function countOf(value: Json | undefined): number | undefined {
  return typeof value === 'number' && value >= 0 && Number.isSafeInteger(value) ? value : undefined;
}

const passing: ReadonlySet<string> = new Set([
  'overloaded_error',
  'api_error',
  'rate_limit_error',
  'timeout_error',
  'server_error',
  'rate_limit_exceeded',
  'internal_server_error',
]);
const wordPattern = /^[a-z][a-z_]{0,48}$/;

function faultOf(error: Json | undefined): StreamFault {
  const type = isJsonObject(error)
    ? [error.type, error.code].map(textOf).find((one) => wordPattern.test(one))
    : undefined;
  return type === undefined ? { type: 'error', passing: true } : { type, passing: passing.has(type) };
}

function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? (value as readonly Json[]) : [];
}

function textOf(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}

function parse(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}
