/**
 * Parses an add-server link: its name and entry, or the one rule that it breaks. Installs nothing and trusts nothing,
 * because the text comes from a web page.
 * @see LNK-1 and SEC-2 in docs/specification.md
 * @see [RFC 4648 §5](https://www.rfc-editor.org/rfc/rfc4648.html#section-5)
 */

import { isJsonObject, type Json, type JsonObject } from '../base/json.ts';
import { deepestJson, isTooDeep } from '../base/read-json.ts';
import { textsIn, unresolvedReference } from '../config/interpolate.ts';
import { checkServerEntry, serverEntrySchema } from '../config/server-entry.ts';
import { validate } from '../config/validate.ts';
import { isWebAddress } from '../oauth/secure-endpoint.ts';

export interface InstallLink {
  readonly name: string;
  readonly config: JsonObject;
}

type LinkRefusal =
  | 'link-form'
  | 'link-name'
  | 'link-config-missing'
  | 'link-too-long'
  | 'link-base64'
  | 'link-utf8'
  | 'link-json'
  | 'link-not-object'
  | 'link-no-server'
  | 'link-two-servers'
  | 'link-url'
  | 'link-reference'
  | 'link-entry';

export type LinkReading =
  | { readonly kind: 'link'; readonly link: InstallLink }
  | { readonly kind: 'refused'; readonly code: LinkRefusal; readonly message: string };

const namePattern = /^[A-Za-z0-9._-]{1,64}$/;
const maxBytes = 32 * 1024;
/** Four characters encode three bytes. */
const maxCharacters = Math.ceil(maxBytes / 3) * 4;

export function readInstallLink(text: string): LinkReading {
  const given = text.trim();
  // The longest valid link; a longer one is not parsed.
  if (given.length > maxCharacters * 3 + 1_024) return refuse('link-too-long', tooLong);
  const params = paramsOf(given);
  if (params === undefined) {
    return refuse('link-form', 'an add-server link begins with agent://mcp/install? and has a name and a config');
  }
  const names = params.getAll('name');
  const [name = ''] = names;
  if (names.length !== 1 || !isName(name)) {
    return refuse('link-name', nameRule);
  }
  const configs = params.getAll('config');
  const [config = ''] = configs;
  if (configs.length !== 1 || config === '') return refuse('link-config-missing', 'the link carries no config');
  const bytes = decode(config);
  if (typeof bytes === 'string') {
    return bytes === 'long'
      ? refuse('link-too-long', tooLong)
      : refuse('link-base64', 'the config of the link is neither base64url nor base64');
  }
  const value = jsonOf(bytes);
  if (value.kind === 'refused') return value;
  return entryOf(name, value.value);
}

/** Whether a server may have this name; one of dots only would be a folder. */
export function isName(name: string): boolean {
  return namePattern.test(name) && !/^\.+$/.test(name);
}

const nameRule = 'the name of an add-server link has 1 to 64 letters, digits, ".", "_" and "-", and not only dots';
const tooLong = `the config of the link is larger than ${maxBytes / 1_024} KB`;

function paramsOf(text: string): URLSearchParams | undefined {
  const match = /^agent:\/\/mcp\/install\/?\?([^#]*)$/i.exec(text);
  return match === null ? undefined : new URLSearchParams(match[1]);
}

/** The decoded bytes, or why there are none. Checks the length before it decodes. */
function decode(config: string): Uint8Array | 'long' | 'malformed' {
  // A query encodes a space as "+", which is a character of base64.
  const standard = config.replaceAll(' ', '+').replaceAll('-', '+').replaceAll('_', '/').replace(/=+$/, '');
  if (standard.length > maxCharacters) return 'long';
  if (!/^[A-Za-z0-9+/]*$/.test(standard) || standard.length % 4 === 1) return 'malformed';
  const binary = atob(standard);
  if (binary.length > maxBytes) return 'long';
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}

function jsonOf(bytes: Uint8Array): { readonly kind: 'json'; readonly value: Json } | Refused {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return refuse('link-utf8', 'the config of the link is not UTF-8');
  }
  if (isTooDeep(text)) return refuse('link-json', `the config of the link is nested more than ${deepestJson} deep`);
  try {
    return { kind: 'json', value: JSON.parse(text) as Json };
  } catch {
    return refuse('link-json', 'the config of the link is not JSON');
  }
}

function entryOf(name: string, value: Json): LinkReading {
  if (!isJsonObject(value)) return refuse('link-not-object', 'the config of the link is not an object');
  const hasUrl = typeof value.url === 'string';
  const hasCommand = typeof value.command === 'string';
  if (hasUrl && hasCommand) {
    return refuse('link-two-servers', 'the config of the link has both a url and a command; a server has one of them');
  }
  if (!hasUrl && !hasCommand) return refuse('link-no-server', 'the config of the link has neither a url nor a command');
  if (hasUrl && !isWebAddress(String(value.url))) {
    return refuse('link-url', 'the url of the link is not an http or https address');
  }
  const reference = referenceIn(value);
  if (reference !== undefined) return refuse('link-reference', referenceRule(reference));
  const [finding] = [...validate(serverEntrySchema, value), ...checkServerEntry(value)];
  if (finding !== undefined) return refuse('link-entry', `the config of the link: ${finding.message}`);
  return { kind: 'link', link: { name, config: value } };
}

/** The entry would be interpolated like the owner's, so a reference would send the owner's secrets to the link's server. */
function referenceIn(value: Json): string | undefined {
  return textsIn(value).flatMap(({ text }) => unresolvedReference(text) ?? [])[0];
}

function referenceRule(name: string): string {
  return `the config of the link refers to "${name}", and a link may not read what this computer holds; if the server is meant to have it, add the server by hand: agent mcp add`;
}

type Refused = Extract<LinkReading, { kind: 'refused' }>;

function refuse(code: LinkRefusal, message: string): Refused {
  return { kind: 'refused', code, message };
}
