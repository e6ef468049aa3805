/**
 * Makes of a server's form one that the protocol defines, where only the way of writing differs: generators of schemas
 * write an optional field as one that may be `null` (Python's do), and formats that the protocol does not have.
 * @see SRV-1 and FLT-4 in docs/specification.md
 * @see [MCP elicitation](https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation)
 */

import { isJsonObject, type Json, type JsonObject } from '../base/json.ts';
import { textFormats } from './elicitation-values.ts';
import { withoutNulls } from './without-nulls.ts';

/** The params of a request with the form in the protocol's way of writing; the same object if they have none. */
export function withPlainForm(params: JsonObject): JsonObject {
  return isJsonObject(params.requestedSchema)
    ? { ...params, requestedSchema: plainForm(params.requestedSchema) }
    : params;
}

/** The same for a result of the stateless era, in what it asks for, where a member that is `null` counts as absent too. */
export function withPlainForms(result: JsonObject): JsonObject {
  if (!isJsonObject(result.inputRequests)) return result;
  const inputRequests = Object.entries(result.inputRequests).map(([key, asked]): [string, Json] => [
    key,
    isJsonObject(asked) && isJsonObject(asked.params)
      ? { ...asked, params: withPlainForm(withoutNulls(asked.params)) }
      : asked,
  ]);
  return { ...result, inputRequests: Object.fromEntries(inputRequests) };
}

function plainForm(form: JsonObject): JsonObject {
  const { properties = {}, ...rest } = withoutNulls(form);
  if (!isJsonObject(properties)) return form;
  const fields = Object.entries(properties).map(([name, field]): [string, Json] => [name, plainField(field)]);
  return { type: 'object', ...rest, properties: Object.fromEntries(fields) };
}

function plainField(given: Json): Json {
  if (!isJsonObject(given)) return given;
  const { format, default: value = null, ...field } = withoutNullType(withoutNulls(given));
  const isKnown = typeof format === 'string' && Object.hasOwn(textFormats, format);
  return { ...field, ...(isKnown && { format }), ...(value !== null && { default: value }) };
}

/** `anyOf: [{type: string}, {type: 'null'}]` and `type: [string, 'null']` as the type beside null. */
function withoutNullType(field: JsonObject): JsonObject {
  const { type, anyOf, oneOf, ...rest } = field;
  if (Array.isArray(type)) {
    const [only, ...others] = (type as readonly Json[]).filter((each) => each !== 'null');
    return only === undefined || others.length > 0 ? field : { ...field, type: only };
  }
  const union = anyOf ?? oneOf;
  if (!Array.isArray(union)) return field;
  const [only, ...others] = (union as readonly Json[]).filter((each) => !isJsonObject(each) || each.type !== 'null');
  const isNullable = others.length === 0 && union.length > 1;
  return isNullable && isJsonObject(only) ? { ...only, ...rest } : field;
}
