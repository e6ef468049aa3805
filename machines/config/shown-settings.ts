/**
 * Lists the settings of a config.yaml and the defaults of absent ones, each with its origin. Secrets are masked; references
 * to variables are shown as written.
 * @see CLI-6 in docs/specification.md
 */

import { isJsonObject, type Json, type JsonObject } from '../base/json.ts';
import type { Pieces } from '../base/pieces.ts';
import { readJson } from '../base/read-json.ts';
import { maskSecrets, shortMasks } from './diagnostic.ts';
import type { ConfigDocument, ConfigPath } from './document.ts';
import { variablesIn } from './interpolate.ts';

export interface ShownSetting {
  /** Its path, such as `platforms.webhook.extra.port`. */
  readonly key: string;
  readonly value: Json;
  readonly from: 'file' | 'default' | 'variable';
  readonly line?: number;
  /** The variables that the value refers to. */
  readonly variables?: readonly { readonly name: string; readonly from: VariableSource }[];
}

export type VariableSource = '.env' | 'environment' | 'unset';

/** Sections whose defaults apply even if the file does not mention them. */
const alwaysInForce: ReadonlySet<string> = new Set([
  '',
  'agent',
  'gateway',
  'inspector',
  'telemetry',
  'log',
  'platforms',
  'platforms.webhook',
  'platforms.webhook.extra',
]);

/** Settings that a variable provides if the file does not (ADP-1). */
const byVariable: Readonly<Record<string, string>> = {
  'platforms.webhook.enabled': 'WEBHOOK_ENABLED',
  'platforms.webhook.extra.port': 'WEBHOOK_PORT',
  'platforms.webhook.extra.secret': 'WEBHOOK_SECRET',
};

/** Lists in pieces, of which a file with thousands of routes has many. */
export function* listingSettings(
  document: Pick<ConfigDocument, 'value' | 'place'>,
  schema: JsonObject,
  sourceOf: (variable: string) => VariableSource,
): Pieces<readonly ShownSetting[]> {
  const rows: ShownSetting[] = [];
  const add = (row: Omit<ShownSetting, 'variables'>): void => {
    const variables = variablesIn(row.value).map((name) => ({ name, from: sourceOf(name) }));
    rows.push(variables.length === 0 ? row : { ...row, variables });
  };
  /** @param beside the keys next to `extra`, where those of `extra` may be too */
  function* walk(path: ConfigPath, held: JsonObject, known: JsonObject, beside: JsonObject = {}): Pieces<void> {
    yield undefined;
    const properties = propertiesOf(known);
    const ofExtra = propertiesOf(properties.extra);
    const others = isJsonObject(known.additionalProperties) ? known.additionalProperties : undefined;
    for (const [name, value] of Object.entries(held)) {
      const at = [...path, name];
      const shape = properties[name] ?? others;
      const isSection =
        isJsonObject(shape) && (isJsonObject(shape.properties) || isJsonObject(shape.additionalProperties));
      const isOpen = isJsonObject(value) && (Object.keys(value).length > 0 || alwaysInForce.has(at.join('.')));
      if (isSection && isOpen) yield* walk(at, value, shape, name === 'extra' ? held : {});
      else add({ key: at.join('.'), value: masked(at, value), from: 'file', line: document.place(at).line });
    }
    for (const [name, shape] of Object.entries(properties)) {
      const key = [...path, name].join('.');
      // A default is listed once, where the documentation has it.
      if (held[name] !== undefined || beside[name] !== undefined || Object.hasOwn(ofExtra, name)) continue;
      if (!isJsonObject(shape)) continue;
      const variable = byVariable[key];
      if (variable !== undefined && sourceOf(variable) !== 'unset')
        add({ key, value: `\${${variable}}`, from: 'variable' });
      else if (isJsonObject(shape.properties) && (shape.default !== undefined || alwaysInForce.has(key)))
        yield* walk([...path, name], {}, shape, name === 'extra' ? held : {});
      else if (shape.default !== undefined) add({ key, value: shape.default, from: 'default' });
    }
  }
  yield* walk([], document.value, schema);
  return rows;
}

function propertiesOf(schema: Json | undefined): JsonObject {
  return isJsonObject(schema) && isJsonObject(schema.properties) ? schema.properties : {};
}

export function maskedEntry(entry: JsonObject): JsonObject {
  return masked([], entry) as JsonObject;
}

/** Masks all headers, since any may authenticate, and a client certificate's third item, its password. */
function masked(path: ConfigPath, value: Json): Json {
  if (Array.isArray(value)) return value.map((one, index) => masked([...path, index], one));
  if (isJsonObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, masked([...path, name], one)]));
  }
  if (typeof value !== 'string') return value;
  const [name, holder] = [path.at(-1), path.at(-2)];
  const isSecret = holder === 'headers' || (holder === 'client_cert' && name === 2);
  // List items are as secret as the list.
  const label = isSecret ? 'secret' : String(typeof name === 'number' ? holder : name);
  const line = JSON.stringify(value);
  const shown = maskSecrets(`${label}: ${line}`).slice(`${label}: `.length);
  if (shown === line) return value;
  const read = readJson(shortMasks(shown));
  return typeof read === 'string' ? read : '***';
}
