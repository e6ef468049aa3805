/**
 * Reads `multipart/form-data`: texts, and files, of which the bytes are dropped unless they are text. Takes time in
 * proportion to the body.
 * @see LIM-3 in docs/specification.md
 * @see [RFC 7578](https://www.rfc-editor.org/rfc/rfc7578.html)
 * @see [RFC 2046 §5.1](https://www.rfc-editor.org/rfc/rfc2046.html#section-5.1)
 */

import { isJsonObject, type Json, type JsonObject } from '../base/json.ts';
import { percentDecoded } from '../base/percent-decoded.ts';
import { readJson } from '../base/read-json.ts';
import { decodeBody, decodeText } from './charset.ts';

type MultipartForm =
  | { readonly ok: true; readonly fields: readonly (readonly [name: string, value: Json])[] }
  | { readonly ok: false; readonly why: string };

interface Part {
  readonly name: string;
  readonly filename: string | undefined;
  /** Without parameters; undefined if the part does not say. */
  readonly type: string | undefined;
  readonly charset: string | undefined;
  readonly content: Buffer;
  /** Whether it has a file name, or is no text. */
  readonly isFile: boolean;
}

interface Delimiter {
  /** Where the part before it ends. */
  readonly at: number;
  /** Where the head of the next part begins. */
  readonly end: number;
  readonly isLast: boolean;
}

const blankLine = '\r\n\r\n';
/** RFC 2046 §5.1.1. */
const maxBoundaryLength = 70;
/** Anyone may send a thousand heads, which cost more than their bytes; a long file name in two forms has 3,000. */
const maxHeadLength = 8_192;
const textType = /^text\/|[/+](?:json|xml|x-ndjson|yaml)$/;
/** Types that clients give to a field whose text they know no more of. */
const anyType = /^application\//;
/** Not an escape before the end of its value: browsers escape no backslash, and old ones sent paths of Windows. */
const parameter = /;\s*([\w*-]+)\s*=\s*(?:"((?:\\"(?!\s*(?:;|$))|[^"])*)"|([^\s;]*))/g;

/** @param type the Content-Type of the body */
export function parseMultipart(body: Buffer, type: string, maxFields: number): MultipartForm {
  const refused = (why: string): MultipartForm => ({ ok: false, why });
  const boundary = parametersOf(type).get('boundary') ?? '';
  if (boundary === '')
    return refused(
      'the content-type of the form names no boundary; let the client that builds the form set that header',
    );
  if (boundary.length > maxBoundaryLength)
    return refused(`the boundary of the form is longer than ${maxBoundaryLength} characters`);
  const next = delimitersOf(body, boundary);
  let delimiter = next(0);
  if (delimiter === undefined)
    return refused('the boundary that the content-type names is not in the body, or its lines do not end in CRLF');
  const parts: Part[] = [];
  while (!delimiter.isLast) {
    const number = parts.length + 1;
    if (number > maxFields) return refused(`the form has more than ${maxFields} fields`);
    // The head may be empty, so that the line break of the delimiter begins the blank line.
    const begin: number = delimiter.end - 2;
    delimiter = next(begin);
    if (delimiter === undefined) return refused(`the form is cut off in part ${number}: its last boundary is missing`);
    const part = body.subarray(begin, delimiter.at);
    const found = part.indexOf(blankLine);
    const headLength = found < 0 ? part.length : found;
    if (headLength > maxHeadLength) return refused(`the head of part ${number} of the form is too long`);
    const read = readPart(decodeText(part.subarray(0, headLength)), part.subarray(headLength + blankLine.length));
    if (read === undefined) return refused(`part ${number} of the form has no name`);
    parts.push(read);
  }
  const charsetOf = charsetReader(parts);
  return { ok: true, fields: parts.map((part) => [part.name, heldBy(part, charsetOf(part))]) };
}

/** Returns a search for the next line that is a delimiter, from a position that may be its line break. */
function delimitersOf(body: Buffer, boundary: string): (from: number) => Delimiter | undefined {
  const line = Buffer.from(`\r\n--${boundary}`, 'latin1');
  const ended = (at: number, start: number): Delimiter | undefined => {
    let end = start;
    if (body[end] === 0x2d && body[end + 1] === 0x2d) return { at, end: end + 2, isLast: true };
    while (body[end] === 0x20 || body[end] === 0x09) end += 1;
    // A longer text is not the boundary.
    return body[end] === 0x0d && body[end + 1] === 0x0a ? { at, end: end + 2, isLast: false } : undefined;
  };
  return (from) => {
    const bare = line.subarray(2);
    const first = from === 0 && body.subarray(0, bare.length).equals(bare) ? ended(0, bare.length) : undefined;
    if (first !== undefined) return first;
    for (let at = body.indexOf(line, from); at >= 0; at = body.indexOf(line, at + line.length)) {
      const found = ended(at, at + line.length);
      if (found !== undefined) return found;
    }
    return undefined;
  };
}

/** Undefined if the part has no name. */
function readPart(head: string, encoded: Buffer): Part | undefined {
  const headers = new Map<string, string>();
  for (const line of head.replace(/\r\n[ \t]+/g, ' ').split('\r\n')) {
    const colon = line.indexOf(':');
    if (colon > 0) headers.set(line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim());
  }
  const disposition = parametersOf(headers.get('content-disposition') ?? '');
  const name = disposition.get('name');
  if (name === undefined) return undefined;
  const given = headers.get('content-type');
  const type = given?.split(';', 1)[0]?.trim().toLowerCase();
  const [, extended] = /^utf-8'[^']*'(.*)$/i.exec(disposition.get('filename*') ?? '') ?? [];
  // Deprecated by RFC 7578 §4.7, but sent by clients that build the form as an email.
  const isBase64 = headers.get('content-transfer-encoding')?.toLowerCase() === 'base64';
  const content = isBase64 ? Buffer.from(encoded.toString('latin1'), 'base64') : encoded;
  const filename = extended === undefined ? disposition.get('filename') : percentDecoded(extended);
  const isText = type === undefined || textType.test(type) || (anyType.test(type) && decodeBody(content) !== undefined);
  const charset = parametersOf(given ?? '').get('charset');
  return { name, filename, type, charset, content, isFile: filename !== undefined || !isText };
}

/** A value may be quoted; browsers encode the three characters that would end it (RFC 7578 §4.2). */
function parametersOf(header: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const [, name = '', quoted, bare = ''] of header.matchAll(parameter)) {
    const value = quoted?.replaceAll('\\"', '"').replace(/%(?:22|0d|0a)/gi, percentDecoded) ?? bare;
    if (!found.has(name.toLowerCase())) found.set(name.toLowerCase(), value);
  }
  return found;
}

/** A part names its charset; SendGrid names those of all fields in `charsets`, browsers a common one in `_charset_`. */
function charsetReader(parts: readonly Part[]): (part: Part) => string | undefined {
  const textOf = (name: string): string | undefined => {
    const held = parts.find((part) => part.name === name && !part.isFile);
    return held && decodeText(held.content);
  };
  const named = readJson(textOf('charsets') ?? '');
  const byName: JsonObject = named !== undefined && isJsonObject(named) ? named : {};
  const common = textOf('_charset_');
  return ({ name, charset }) => {
    const own = charset ?? (Object.hasOwn(byName, name) ? byName[name] : undefined);
    return typeof own === 'string' ? own : common;
  };
}

function heldBy({ filename, type = 'application/octet-stream', content, isFile }: Part, charset?: string): Json {
  if (!isFile) return decodeText(content, charset);
  const file = { ...(filename === undefined ? {} : { name: filename }), type, size: content.length };
  return textType.test(type) ? { ...file, text: decodeText(content, charset) } : file;
}
