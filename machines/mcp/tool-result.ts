/**
 * Decides what of a tool's result the agent gets: readable blocks, text up to the cap, no Unicode tags, and no secret shapes
 * in an error. What is left out is reported.
 * @see LIF-13 in docs/specification.md
 */

import { cut, isJsonObject, type Json, type JsonObject } from '../base/json.ts';
import { parseJson } from '../base/read-json.ts';
import { redactShapes } from './redact-shapes.ts';
import { mapStrings, stripTags } from './strip-tags.ts';
import { withoutNulls } from './without-nulls.ts';

export interface ShapedResult {
  readonly content: readonly JsonObject[];
  readonly structuredContent?: Json;
  readonly isError: boolean;
  /** What the server adds for programs, which no model gets. */
  readonly _meta?: JsonObject;
}

export interface Shaping {
  readonly result: ShapedResult;
  /** What was dropped, for the log. */
  readonly notes: readonly string[];
}

/** `left`: characters of text that the result may still have; the other counts what was cut. */
export interface Allowance {
  left: number;
  lost: number;
}

type Change = (text: string) => string;

/**
 * Shapes a result.
 * @param cap the most code points of text and structured content, and of `_meta`; image data and annotations do not count
 */
export function shapeResult(given: Json, cap: number): Shaping {
  const source = isJsonObject(given) ? given : {};
  const isError = source.isError === true;
  const change: Change = isError ? (text) => redactShapes(stripTags(text)) : stripTags;
  const blocks: JsonObject[] = [];
  const dropped: string[] = [];
  for (const given of Array.isArray(source.content) ? (source.content as readonly Json[]) : []) {
    const block = readBlock(given, change);
    blocks.push(block ?? { type: 'text', text: `[content of type ${typeName(given)} left out]` });
    if (block === undefined) dropped.push(typeName(given));
  }
  const [type] = dropped;
  const more = dropped.length > 1 ? ` and ${dropped.length - 1} more` : '';
  const notes = type === undefined ? [] : [`dropped a content block of type ${type}${more}`];
  const structured = source.structuredContent === undefined ? undefined : mapStrings(source.structuredContent, change);
  const textFirst = fitAll(blocks, structured, { cap, isError });
  // The text of a twin is in the structure, too, which is useful only if it is complete.
  const isTwin = textFirst.structuredContent === undefined && blocks.some((block) => isTwinOf(block, structured));
  const result = isTwin ? fitAll(blocks, structured, { cap, isError, structureFirst: true }) : textFirst;
  const meta = metaIn(source, change);
  const kept = meta === undefined ? undefined : fitWhole(meta, { left: cap, lost: 0 });
  if (meta !== undefined && kept === undefined) notes.push(`dropped its _meta, which has more than ${cap} characters`);
  return { result: kept === undefined ? result : { ...result, _meta: kept }, notes };
}

/** Keys of the protocol are about the connection between the server and the gateway. */
const ofProtocol = 'io.modelcontextprotocol/';

function metaIn({ _meta }: JsonObject, change: Change): JsonObject | undefined {
  const clean = mapStrings(isJsonObject(_meta) ? _meta : {}, change);
  const own = Object.entries(isJsonObject(clean) ? clean : {}).filter(([key]) => !key.startsWith(ofProtocol));
  return own.length > 0 ? Object.fromEntries(own) : undefined;
}

interface Fitting {
  readonly cap: number;
  readonly isError: boolean;
  readonly structureFirst?: boolean;
}

function fitAll(
  blocks: readonly JsonObject[],
  structured: Json | undefined,
  { cap, isError, structureFirst = false }: Fitting,
): ShapedResult {
  const allowance: Allowance = { left: cap, lost: 0 };
  const structure = () => (structured === undefined ? undefined : fitWhole(structured, allowance));
  const first = structureFirst ? structure() : undefined;
  const content = blocks.map((block) => fit(block, allowance)).filter((block) => block !== undefined);
  const kept = structureFirst ? first : structure();
  const isDropped = structured !== undefined && kept === undefined;
  if (allowance.lost > 0) content.push({ type: 'text', text: leftOut(allowance.lost, cap, isDropped) });
  // A client refuses a result without the structure that the tool's schema promises, unless it is an error.
  return { content, ...(kept === undefined ? {} : { structuredContent: kept }), isError: isError || isDropped };
}

/** Whether a text block has the structured content as JSON. */
function isTwinOf({ type, text }: JsonObject, structured: Json | undefined): boolean {
  if (type !== 'text' || structured === undefined) return false;
  return JSON.stringify(parseJson(String(text))) === JSON.stringify(structured);
}

/** A valid block of a known type; undefined for any other. */
function readBlock(given: Json, change: Change): JsonObject | undefined {
  if (!isJsonObject(given)) return undefined;
  switch (given.type) {
    case 'text':
      return typeof given.text === 'string' ? cleaned(given, change) : undefined;
    case 'image':
    case 'audio':
      return typeof given.data === 'string' && typeof given.mimeType === 'string'
        ? withData(given, 'data', change)
        : undefined;
    case 'resource': {
      const { resource } = given;
      if (!isJsonObject(resource) || typeof resource.uri !== 'string') return undefined;
      if (typeof resource.text === 'string') return cleaned(given, change);
      if (typeof resource.blob !== 'string') return undefined;
      const { resource: _, ...rest } = given;
      return { ...cleaned(rest, change), resource: withData(resource, 'blob', change) };
    }
    case 'resource_link':
      return typeof given.uri === 'string' ? cleaned(given, change) : undefined;
    default:
      return undefined;
  }
}

/** Base64 may look like a key by chance, so it is not redacted; tags are removed as from every string. */
function withData(given: JsonObject, key: 'data' | 'blob', change: Change): JsonObject {
  const { [key]: data, ...rest } = given;
  return { ...cleaned(rest, change), [key]: stripTags(String(data)) };
}

function cleaned(given: JsonObject, change: Change): JsonObject {
  const value = mapStrings(given, change);
  // A client refuses a result with a null where a block may have none.
  return isJsonObject(value) ? withoutNulls(value) : {};
}

/** Cuts the block's text to the remaining allowance; undefined if none is left. */
function fit(block: JsonObject, allowance: Allowance): JsonObject | undefined {
  const { resource } = block;
  if (block.type === 'text') {
    const text = takeText(String(block.text), allowance);
    return text === undefined ? undefined : { ...block, text };
  }
  // A link is only text, with a description of any length.
  if (block.type === 'resource_link') return fitWhole(block, allowance);
  if (block.type !== 'resource' || !isJsonObject(resource) || typeof resource.text !== 'string') return block;
  const text = takeText(resource.text, allowance);
  return text === undefined ? undefined : { ...block, resource: { ...resource, text } };
}

function takeText(text: string, allowance: Allowance): string | undefined {
  const taken = cut(text, allowance.left);
  allowance.left -= lengthOf(taken);
  allowance.lost += lengthOf(text.slice(taken.length));
  return taken === '' && text !== '' ? undefined : taken;
}

/** Part of a structure is useless, so it is kept completely or left out. */
export function fitWhole<Value extends Json>(value: Value, allowance: Allowance): Value | undefined {
  const length = lengthOf(JSON.stringify(value));
  if (length > allowance.left) {
    allowance.lost += length;
    return undefined;
  }
  allowance.left -= length;
  return value;
}

function leftOut(lost: number, cap: number, isStructureDropped: boolean): string {
  const what = isStructureDropped ? ', with the structured content' : '';
  return `[${lost} characters left out${what}: a result may hold ${cap}; raise max_result_chars to have more]`;
}

/** The number of code points, as `cut` counts them: an unpaired high surrogate takes the next unit with it. */
function lengthOf(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; count += 1) {
    const unit = text.charCodeAt(at);
    at += unit >= 0xd800 && unit <= 0xdbff ? 2 : 1;
  }
  return count;
}

function typeName(given: Json): string {
  const type = isJsonObject(given) ? given.type : undefined;
  return typeof type === 'string' ? JSON.stringify(cut(stripTags(type), 64)) : 'unknown';
}
