/**
 * Decides what a server may ask of its client: whether a model is run for it and with which bounds, whether a person is
 * asked for values, and which folders are its roots. Runs no model and asks no person.
 * @see SRV-1, SRV-2 and SRV-3 in docs/specification.md
 */

import { cut, isJsonObject, type Json, type JsonObject, scalarText } from '../base/json.ts';
import { redactShapes } from './redact-shapes.ts';
import type { SamplingPolicy, ServerSettings } from './server-settings.ts';
import { mapStrings, stripTags } from './strip-tags.ts';

export type SamplingVerdict =
  | {
      readonly kind: 'admitted';
      /** Undefined: the agent's own choice. */
      readonly model?: string;
      readonly maxTokens: number;
    }
  | { readonly kind: 'refused'; readonly reason: string };

export type ElicitationVerdict =
  | { readonly kind: 'ask'; readonly message: string; readonly requestedSchema: Json }
  | { readonly kind: 'decline'; readonly why: string };

export interface RootsAnswer {
  readonly roots: readonly { readonly uri: string; readonly name: string }[];
}

const windowMs = 60_000;
/** More than a person takes in at a time; a server that asks on and on must not bury the questions of the others. */
const mostForms = 10;
/** Such forms are rare, and no call's end takes them back. */
const mostUnbidden = 4;
/** A form stops the clock of its call, and a server may ask again after each refusal. */
export const mostUnfilled = 3;
/** A form is put before a person and lies in a context: as much as can be read, in characters. */
const longestQuestion = 4_000;
const longestForm = 65_536;

/**
 * Judges a `sampling/createMessage` request.
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
  const rounds = toolRounds(request.messages);
  if (rounds > policy.maxToolRounds) return refuse(`more than ${policy.maxToolRounds} rounds of tool use`);
  const strange = mediaOf(request.messages);
  if (strange !== undefined) return refuse(`the model is given text only, and a message holds ${strange}`);
  const choice = chooseModel(policy, hintsOf(request.modelPreferences));
  if (choice.kind === 'none') return refuse(`model not allowed: ${choice.asked.join(', ')}`);
  return {
    kind: 'admitted',
    ...(choice.model === undefined ? {} : { model: choice.model }),
    maxTokens: cappedTokens(request.maxTokens, policy.maxTokensCap),
  };
}

/**
 * Judges an `elicitation/create` request by its params: only a form is put before a person, and only so many at a time.
 * @param forms of this server that wait for a person; of the call that were not filled in; and, of a request that belongs to
 *   no call, those of its kind that wait
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
  if (waiting >= mostForms) return { kind: 'decline', why: `${mostForms} of its forms wait already` };
  if (unbidden >= mostUnbidden)
    return { kind: 'decline', why: `${mostUnbidden} of its forms that belong to no call wait already` };
  if (unfilled >= mostUnfilled)
    return { kind: 'decline', why: `${mostUnfilled} forms of this call were not filled in` };
  // Revisions before 2025-11-25 know no mode and mean a form.
  const mode = request.mode ?? 'form';
  if (mode !== 'form')
    return { kind: 'decline', why: `${scalarText(mode).slice(0, 32) || 'this'} mode is not offered` };
  const requestedSchema = mapStrings(request.requestedSchema ?? null, strangersText);
  if (JSON.stringify(requestedSchema).length > longestForm) return { kind: 'decline', why: 'its form is too long' };
  return { kind: 'ask', message: cut(strangersText(scalarText(request.message)), longestQuestion), requestedSchema };
}

/**
 * The answer to `roots/list`: the folders of the entry, in its order, each named by its last segment.
 * @param folderUrls their `file://` URLs; any other scheme is left out
 */
export function rootsAnswer(folderUrls: readonly string[]): RootsAnswer {
  const roots = folderUrls
    .filter((uri) => uri.startsWith('file://'))
    .map((uri) => ({ uri, name: decoded(uri.slice('file://'.length).split('/').filter(Boolean).at(-1) ?? '/') }));
  return { roots };
}

function strangersText(text: string): string {
  return redactShapes(stripTags(text));
}

type ModelChoice =
  | { readonly kind: 'chosen'; readonly model?: string }
  | { readonly kind: 'none'; readonly asked: readonly string[] };

/** The configured model wins. A hint may be part of a name, and hints are in the order of the server's wishes. */
function chooseModel({ model, allowedModels }: SamplingPolicy, hints: readonly string[]): ModelChoice {
  if (model !== undefined) return { kind: 'chosen', model };
  const [firstHint] = hints;
  const [firstAllowed] = allowedModels;
  if (firstAllowed === undefined)
    return firstHint === undefined ? { kind: 'chosen' } : { kind: 'chosen', model: firstHint };
  // The agent's own choice need not be on the list, so the list decides where the server wishes nothing.
  if (firstHint === undefined) return { kind: 'chosen', model: firstAllowed };
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

function cappedTokens(asked: Json | undefined, cap: number): number {
  return typeof asked === 'number' && asked >= 1 ? Math.min(Math.floor(asked), cap) : cap;
}

/** Each message of the model that uses tools is one round; the request brings the whole conversation. */
function toolRounds(messages: Json | undefined): number {
  if (!Array.isArray(messages)) return 0;
  return (messages as readonly Json[]).filter(
    (message) => isJsonObject(message) && message.role === 'assistant' && usesTool(message.content ?? null),
  ).length;
}

/** What a message holds that cannot be passed on; leaving it out would be answering another question. */
function mediaOf(messages: Json | undefined): string | undefined {
  if (!Array.isArray(messages)) return undefined;
  const kinds = (messages as readonly Json[]).flatMap((message) =>
    isJsonObject(message)
      ? blocksOf(message.content ?? null).map((block) => (isJsonObject(block) ? block.type : null))
      : [],
  );
  return ['image', 'audio'].find((kind) => kinds.includes(kind));
}

function usesTool(content: Json): boolean {
  return blocksOf(content).some((block) => isJsonObject(block) && block.type === 'tool_use');
}

function blocksOf(content: Json): readonly Json[] {
  return Array.isArray(content) ? content : [content];
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
