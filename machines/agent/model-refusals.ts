/**
 * What endpoints refuse of a request although an answer does not need it, recognized by their error texts, and the request
 * without it.
 * @see DIS-3 and CON-3 in docs/specification.md
 */

import { cut, type JsonObject } from '../base/json.ts';
import type { ModelSettings } from '../config/settings.ts';
import { withoutOldThoughts, withoutThoughts } from './conversation.ts';
import type { ModelQuestion, ToolOffer } from './model-talk.ts';
import { requestBody } from './model-wire.ts';

/**
 * OpenAI's endpoint lets some models that think, such as gpt-5.6, have tools only if the request says that they do not
 * think.
 */
const effort = 'reasoning_effort';
/**
 * Claude's thoughts of earlier exchanges, once an older one was left out or the tools have changed. DeepSeek's endpoint of
 * the same kind requires them, so they are sent until they are refused.
 */
const oldThoughts = 'old thoughts';
/** Groq's endpoint sends what a model thinks, and takes it back for some models only. */
const thoughts = 'thoughts';
/**
 * An endpoint of Anthropic's kind that reads its requests strictly (400), or with a model behind it that has no such cache:
 * Bedrock's are refused with 403, OpenRouter's with 404.
 */
const cacheMarks = 'cache_control';
/** OpenAI's endpoint, and Azure's, refuse every request if the description of one tool is longer. */
const longDescriptions = 'long descriptions';
const maxDescriptionLength = 1_024;
/** The limit of an answer has another name for OpenAI's models that think, also behind Azure or a proxy. */
const limit = 'max_tokens';
const laterLimit = 'max_completion_tokens';
/** Mistral's endpoint counts the tokens of a stream unasked. */
const counting = 'stream_options';
/**
 * Parameters that can be left out. Models that think take no temperature, OpenAI's no stop; Claude's endpoint takes no
 * sequence of spaces or line ends alone.
 */
const dispensable = ['temperature', 'stop', 'stop_sequences', counting];

/** Refusals by what the endpoint says. */
const sentences: readonly (readonly [refused: string, sentence: RegExp])[] = [
  [effort, /function tools with reasoning_effort are not supported/i],
  [oldThoughts, /bound to a different conversation/i],
  [
    thoughts,
    /\breasoning(?:_content)?\b.{0,40}(?:unsupported|not (?:supported|permitted|allowed))|(?:unsupported|unknown|unexpected|unrecognized|extra_forbidden).{0,80}\breasoning(?:_content)?\b/is,
  ],
  [cacheMarks, /cache.control|prompt caching/i],
  // A text with a mark is a list of one part, which some gateways hand to an endpoint that takes only texts.
  [cacheMarks, /\b(?:system|content)\b.{0,80}\b(?:valid|be|be a|expected|of type) string\b/is],
  [cacheMarks, /\b(?:valid|be|be a|expected|of type) string\b.{0,80}\b(?:system|content)\b/is],
  [longDescriptions, /function\.description.{0,80}too long/i],
];

/** What endpoints refuse in every request; the rest depends on the request. */
const lasting: ReadonlySet<string> = new Set([counting, limit, ...sentences.map(([refused]) => refused)]);

interface RefusedRequest {
  readonly body: JsonObject;
  /** What its body was already made without. */
  readonly without: ReadonlySet<string>;
}

/** What an error refuses of a request and `requestWithout` can change; undefined if nothing. */
export function refusedIn(status: number, text: string, { body, without }: RefusedRequest): string | undefined {
  const isInvalid = status === 400 || status === 422;
  const mayRefuse = (part: string) => isInvalid || (part === cacheMarks && (status === 403 || status === 404));
  const said = sentences.find(([part, sentence]) => mayRefuse(part) && !without.has(part) && sentence.test(text));
  if (said !== undefined) return said[0];
  if (!isInvalid) return undefined;
  if (limit in body && text.includes(laterLimit)) return limit;
  return dispensable.find((name) => name in body && text.includes(name));
}

/** Whether the endpoint refuses it in every request, so that it need not be sent again. */
export function isLasting(refused: string): boolean {
  return lasting.has(refused);
}

/** The body of a request in the form that the endpoint has not refused. */
export function requestWithout(
  without: ReadonlySet<string>,
  model: ModelSettings,
  question: ModelQuestion,
): JsonObject {
  const { turns, tools } = question;
  const { [limit]: max, ...parameters } = requestBody(model, {
    ...question,
    turns: turnsWithout(without, turns),
    isUncached: without.has(cacheMarks),
    tools: without.has(longDescriptions) ? tools.map(shortlyDescribed) : tools,
  });
  return {
    ...Object.fromEntries(Object.entries(parameters).filter(([name]) => !without.has(name))),
    ...(max === undefined ? {} : { [without.has(limit) ? laterLimit : limit]: max }),
    ...(without.has(effort) && tools.length > 0 ? { [effort]: 'none' } : {}),
  };
}

function turnsWithout(without: ReadonlySet<string>, turns: ModelQuestion['turns']): ModelQuestion['turns'] {
  if (without.has(thoughts)) return withoutThoughts(turns);
  return without.has(oldThoughts) ? withoutOldThoughts(turns) : turns;
}

function shortlyDescribed(tool: ToolOffer): ToolOffer {
  return { ...tool, description: cut(tool.description, maxDescriptionLength) };
}
