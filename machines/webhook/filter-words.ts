/**
 * Formats a condition of a route as part of a sentence.
 * @see FIL-2 in docs/specification.md
 */

import { isJsonObject, type Json, type JsonObject } from '../base/json.ts';

const operators: Readonly<Record<string, string>> = {
  equals: 'equals',
  not_equals: 'does not equal',
  contains: 'contains',
  in: 'is one of',
  in_file: 'is in the file',
  regex: 'matches',
};

/** Returns the condition in words, such as `payload.livemode equals true`. */
export function filterWords(condition: JsonObject): string {
  const { field, all, any, not } = condition;
  if (Array.isArray(all)) return group(all, 'and');
  if (Array.isArray(any)) return group(any, 'or');
  if (isJsonObject(not)) return `not (${filterWords(not)})`;
  if (Array.isArray(not)) return `not (${group(not, 'and')})`;
  const name = typeof field === 'string' ? field : 'the payload';
  const tests = Object.entries(condition).flatMap(([key, value]) => {
    if (key === 'exists' || key === 'missing')
      return [(value === false) === (key === 'exists') ? 'is missing' : 'exists'];
    const words = Object.hasOwn(operators, key) ? operators[key] : undefined;
    return words === undefined ? [] : [`${words} ${formatValue(value)}`];
  });
  return `${name} ${tests.join(' and ')}`.trim();
}

function group(conditions: readonly Json[], word: string): string {
  return conditions.map((one) => (isJsonObject(one) ? `(${filterWords(one)})` : '')).join(` ${word} `);
}

function formatValue(value: Json | undefined): string {
  if (Array.isArray(value)) return value.map((one: Json) => formatValue(one)).join(', ');
  return typeof value === 'string' ? value : JSON.stringify(value);
}
