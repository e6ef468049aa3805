/**
 * Decides what a server may request of its client: whether and with which limits a model runs for it, whether a person is
 * asked for values, and which folders are its roots.
 * @see SRV-1, SRV-2 and SRV-3 in docs/specification.md
 */

import { cutWithMark, isJsonObject, type Json, type JsonObject, scalarText } from '../base/json.ts';
import { percentDecoded } from '../base/percent-decoded.ts';
import { redactShapes } from './redact-shapes.ts';
import type { SamplingPolicy, ServerSettings } from './server-settings.ts';
import { mapStrings, stripTags } from './strip-tags.ts';

type SamplingVerdict =
  | {
      readonly kind: 'admitted';
      /** Undefined: that of `agent.model`. */
      readonly model?: string;
      readonly maxTokens: number;
    }
  | { readonly kind: 'refused'; readonly reason: string };

type ElicitationVerdict =
  | { readonly kind: 'ask'; readonly message: string; readonly requestedSchema: Json }
  | { readonly kind: 'decline'; readonly why: string };

interface RootsAnswer {
  readonly roots: readonly { readonly uri: string; readonly name: string }[];
}

const windowMs = 60_000;
/** More than a person can keep track of; a server with many requests must not bury the questions of others. */
const maxForms = 10;
/** Forms that belong to no call are rare, and no end of a call withdraws them. */
const maxUnbidden = 4;
/** A form suspends its call's timeout, and a server may ask again after each refusal. */
export const maxUnfilled = 3;
/** A form is shown to a person and kept in a chart's context, so it is limited to a readable length, in characters. */
const maxQuestionLength = 4_000;
const maxFormLength = 65_536;
/** What the model is given costs as its answer does, which `max_tokens_cap` limits. In characters, as JSON. */
const maxPromptLength = 262_144;

/**
 * Checks a `sampling/createMessage` request.
 * @param request its params, as the server sent them
 * @param recentTimesMs when earlier requests of this server were admitted
 */
export function admitSampling(
  policy: SamplingPolicy,
  request: JsonObject,
  recentTimesMs: readonly number[],
  nowMs: number,
): SamplingVerdict {
  const refuse = (reason: string): SamplingVerdict => ({ kind: 'refused', reason });
  if (!policy.enabled) return refuse('sampling is disabled for this server');
  const recent = recentTimesMs.filter((atMs) => nowMs - atMs < windowMs).length;
  if (recent >= policy.maxRequestsPerMinute) {
    return refuse(`more than ${policy.maxRequestsPerMinute} sampling requests in a minute`);
  }
  if (isTooLong(request)) return refuse(`the model is given at most ${maxPromptLength} characters`);
  const rounds = toolRounds(request.messages);
  if (rounds > policy.maxToolRounds) return refuse(`more than ${policy.maxToolRounds} rounds of tool use`);
  const strange = otherThanText(request.messages);
  if (strange !== undefined) return refuse(`the model is given text only, and a message holds ${strange}`);
  if (Array.isArray(request.tools) && request.tools.length > 0) return refuse('the model is given no tools');
  const choice = chooseModel(policy, hintsOf(request.modelPreferences));
  if (choice.kind === 'none') return refuse(`model not allowed: ${choice.asked.join(', ')}`);
  return {
    kind: 'admitted',
    ...(choice.model === undefined ? {} : { model: choice.model }),
    maxTokens: cappedTokens(request.maxTokens, policy.maxTokensCap),
  };
}

/**
 * Checks the params of an `elicitation/create` request: only forms are shown to a person, and only a limited number at a
 * time.
 * @param forms `waiting`: of this server; `unfilled`: of the call; `unbidden`: waiting forms that belong to no call
 */
export function admitElicitation(
  policy: ServerSettings['elicitation'],
  request: JsonObject,
  {
    waiting,
    unfilled,
    unbidden = 0,
  }: { readonly waiting: number; readonly unfilled: number; readonly unbidden?: number },
): ElicitationVerdict {
  if (!policy.enabled) return { kind: 'decline', why: 'elicitation is disabled for this server' };
  if (waiting >= maxForms) return { kind: 'decline', why: `${maxForms} of its forms wait already` };
  if (unbidden >= maxUnbidden)
    return { kind: 'decline', why: `${maxUnbidden} of its forms that belong to no call wait already` };
  if (unfilled >= maxUnfilled) return { kind: 'decline', why: `${maxUnfilled} forms of this call were not filled in` };
  // Revisions before 2025-11-25 have no mode and mean a form.
  const mode = request.mode ?? 'form';
  if (mode !== 'form')
    return { kind: 'decline', why: `${scalarText(mode).slice(0, 32) || 'this'} mode is not offered` };
  const requestedSchema = mapStrings(request.requestedSchema ?? null, untrustedText);
  if (JSON.stringify(requestedSchema).length > maxFormLength) return { kind: 'decline', why: 'its form is too long' };
  return {
    kind: 'ask',
    message: cutWithMark(untrustedText(scalarText(request.message)), maxQuestionLength),
    requestedSchema,
  };
}

/**
 * The answer to `roots/list`: the entry's folders in order, each named by its last segment.
 * @param folderUrls their `file://` URLs; other schemes are left out
 */
export function rootsAnswer(folderUrls: readonly string[]): RootsAnswer {
  const roots = folderUrls
    .filter((uri) => uri.startsWith('file://'))
    .map((uri) => ({
      uri,
      name: percentDecoded(uri.slice('file://'.length).split('/').filter(Boolean).at(-1) ?? '/'),
    }));
  return { roots };
}

function untrustedText(text: string): string {
  return redactShapes(stripTags(text));
}

type ModelChoice =
  | { readonly kind: 'chosen'; readonly model?: string }
  | { readonly kind: 'none'; readonly asked: readonly string[] };

/** The configured model takes precedence. A hint may be part of a name; hints are in the server's order of preference. */
function chooseModel({ model, allowedModels }: SamplingPolicy, hints: readonly string[]): ModelChoice {
  if (model !== undefined) return { kind: 'chosen', model };
  const [firstAllowed] = allowedModels;
  if (firstAllowed === undefined) return { kind: 'chosen' };
  // The agent's own choice need not be on the list, so the list decides if the server has no preference.
  if (hints.length === 0) return { kind: 'chosen', model: firstAllowed };
  for (const hint of hints) {
    const match = allowedModels.find((name) => name === hint) ?? allowedModels.find((name) => name.includes(hint));
    if (match !== undefined) return { kind: 'chosen', model: match };
  }
  return { kind: 'none', asked: hints };
}

function hintsOf(preferences: Json | undefined): readonly string[] {
  const hints = isJsonObject(preferences) ? preferences.hints : undefined;
  if (!Array.isArray(hints)) return [];
  return (hints as readonly Json[]).flatMap((hint) =>
    isJsonObject(hint) && typeof hint.name === 'string' && hint.name !== '' ? [hint.name] : [],
  );
}

function isTooLong({ systemPrompt = null, messages = null, stopSequences = null }: JsonObject): boolean {
  try {
    return JSON.stringify([systemPrompt, messages, stopSequences]).length > maxPromptLength;
  } catch {
    // What is nested deeper than the stack is no text either.
    return true;
  }
}

function cappedTokens(asked: Json | undefined, cap: number): number {
  return typeof asked === 'number' && asked >= 1 ? Math.min(Math.floor(asked), cap) : cap;
}

/** Each model message that uses tools is one round; the request contains the complete conversation. */
function toolRounds(messages: Json | undefined): number {
  if (!Array.isArray(messages)) return 0;
  return (messages as readonly Json[]).filter(
    (message) => isJsonObject(message) && message.role === 'assistant' && usesTool(message.content ?? null),
  ).length;
}

/** The kind of a content block that cannot be passed on; leaving it out would change the request. */
function otherThanText(messages: Json | undefined): string | undefined {
  if (!Array.isArray(messages)) return undefined;
  const blocks = (messages as readonly Json[]).flatMap((message) =>
    isJsonObject(message) ? blocksOf(message.content ?? null) : [],
  );
  const other = blocks.find((block) => !isJsonObject(block) || block.type !== 'text');
  if (other === undefined) return undefined;
  return (isJsonObject(other) && untrustedText(scalarText(other.type)).slice(0, 32)) || 'no content block';
}

function usesTool(content: Json): boolean {
  return blocksOf(content).some((block) => isJsonObject(block) && block.type === 'tool_use');
}

function blocksOf(content: Json): readonly Json[] {
  return Array.isArray(content) ? content : [content];
}
