/**
 * Limits what a client gets of a server's resources and prompts: within the result cap, without invisible characters, and in
 * the protocol's shape. What is left out is reported.
 * @see CLI-5 and LIF-13 in docs/specification.md
 */

import { isJsonObject, type Json, type JsonObject, scalarText } from '../base/json.ts';
import { isOfferList, type OfferList, type OfferMethod, offerRows } from './offers.ts';
import { mapStrings, stripTags } from './strip-tags.ts';
import { type Allowance, fitWhole, type ShapedResult, type Shaping, shapeResult } from './tool-result.ts';
import { untrustedWords } from './untrusted-words.ts';

/**
 * Shapes the answer to a request for resources or prompts. Returns it as the `structuredContent` of a result without
 * content.
 * @param cap the most characters of text, as for a tool's result; image data does not count
 */
export function shapeOffer(method: OfferMethod, given: Json, cap: number): Shaping {
  const source = isJsonObject(given) ? given : {};
  if (isOfferList(method)) return shapeRows(method, source, cap);
  return method === 'resources/read' ? shapeContents(source, cap) : shapePrompt(source, cap);
}

function shapeRows(method: OfferList, source: JsonObject, cap: number): Shaping {
  const { key, id } = offerRows[method];
  const allowance: Allowance = { left: cap, lost: 0 };
  const notes: string[] = [];
  const rows = objectsIn(source[key]).flatMap((row) => {
    const name = scalarText(row[id]);
    // It must be sent back unchanged, so it cannot be cleaned.
    const isUsable = name !== '' && !/\p{Cc}/u.test(name) && stripTags(name) === name;
    const kept = isUsable ? fitWhole(mapStrings(row, stripTags), allowance) : undefined;
    if (kept !== undefined) return [kept];
    const why = isUsable ? `a listing may hold ${cap} characters` : `its ${id} is empty or has invisible characters`;
    notes.push(`left out "${untrustedWords(name, 100)}": ${why}`);
    return [];
  });
  return shaping({ [key]: rows }, notes.slice(0, maxNotes));
}

/** A listing may have as many faults as rows. */
const maxNotes = 3;

function shapeContents(source: JsonObject, cap: number): Shaping {
  const given = objectsIn(source.contents);
  const { result, notes } = shapeResult({ content: given.map((resource) => ({ type: 'resource', resource })) }, cap);
  const uri = given[0]?.uri ?? '';
  const contents = result.content.map(
    ({ resource, text }) => resource ?? { uri, mimeType: 'text/plain', text: text ?? '' },
  );
  return shaping({ contents }, notes);
}

function shapePrompt(source: JsonObject, cap: number): Shaping {
  const given = objectsIn(source.messages).filter(({ role }) => role === 'user' || role === 'assistant');
  const messages: JsonObject[] = [];
  const notes: string[] = [];
  let left = cap;
  for (const { role, content } of given) {
    if (left === 0) {
      notes.push(`left out its further messages: a result may hold ${cap} characters`);
      break;
    }
    const shaped = shapeResult({ content: [content ?? null] }, left);
    left = Math.max(0, left - charactersOf(shaped.result));
    notes.push(...shaped.notes);
    for (const block of shaped.result.content) messages.push({ role: role ?? 'user', content: block });
  }
  const { description } = source;
  return shaping(
    { ...(typeof description === 'string' ? { description: stripTags(description) } : {}), messages },
    notes.slice(0, maxNotes),
  );
}

/** The characters of text; the data of images and audio does not count. */
function charactersOf({ content }: ShapedResult): number {
  let count = 0;
  for (const { type, text, resource } of content) {
    if (type === 'text') count += String(text).length;
    else if (isJsonObject(resource) && typeof resource.text === 'string') count += resource.text.length;
  }
  return count;
}

function objectsIn(value: Json | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? (value as readonly Json[]).filter(isJsonObject) : [];
}

function shaping(answer: JsonObject, notes: readonly string[]): Shaping {
  return { result: { content: [], structuredContent: answer, isError: false }, notes };
}
