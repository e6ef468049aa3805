/**
 * Templates of prompts and delivery texts: only substitution. A template is parsed once per route; rendering joins its
 * parts. Substituted text is never interpreted again.
 * @see TPL-1 and TPL-2 in docs/specification.md
 */

import { compilePath, isJsonObject, type Json, type JsonObject, stringify } from '../base/json.ts';
import { templateToken } from '../config/route.ts';

export interface TemplateView {
  readonly payload: JsonObject;
  /** The resolved event type, for `{event_type}`. */
  readonly eventType: string;
}

export interface CompiledTemplate {
  /** The tokens in order, without braces. */
  readonly tokens: readonly string[];
  render(view: TemplateView): string;
}

export interface CompiledExtra {
  render(view: TemplateView): JsonObject;
}

/** The most characters of the complete payload in a prompt. */
const rawLimit = 4_000;
/** The most characters of a nested list or object in a prompt. */
const nestedLimit = 2_000;

/**
 * The most UTF-16 units of a rendered text. A token may occur thousands of times and a value be as long as a body: their
 * product must not exhaust the memory.
 */
const renderedLimit = 16 * 1_048_576;

/** Compiles a template; its values are cut for people, or complete if they distinguish events. */
export function compileTemplate(text: string, values: 'cut' | 'whole' = 'cut'): CompiledTemplate {
  const literals: string[] = [];
  const tokens: string[] = [];
  let at = 0;
  for (const match of text.matchAll(templateToken)) {
    literals.push(text.slice(at, match.index));
    tokens.push(match[1] ?? '');
    at = match.index + match[0].length;
  }
  const tail = text.slice(at);
  if (tokens.length === 0) return { tokens, render: () => text };
  const names = [...new Set(tokens)];
  const substitutes = names.map((token) => compileToken(token, values));
  const slots = new Map(names.map((token, slot) => [token, slot]));
  const order = tokens.map((token) => slots.get(token) ?? 0);
  return {
    tokens,
    render(view) {
      // A token that occurs often is looked up and serialized once.
      const found: string[] = [];
      let rendered = '';
      for (let index = 0; index < order.length; index += 1) {
        const slot = order[index] ?? 0;
        const text = found[slot] ?? substitutes[slot]?.(view) ?? '';
        found[slot] = text;
        rendered += literals[index] + text;
        if (rendered.length > renderedLimit) return wholeCharacters(rendered.slice(0, renderedLimit));
      }
      return rendered + tail;
    },
  };
}

/** Without a prompt, the complete payload is the prompt. */
export function compilePrompt(prompt: string | undefined): CompiledTemplate {
  return compileTemplate(prompt ?? '{__raw__}');
}

/** Compiles the string values of a mapping at any depth; keys and other values are unchanged. */
export function compileExtra(extra: JsonObject): CompiledExtra {
  const render = compileValue(extra);
  return { render: (view) => render(view) as JsonObject };
}

/** Compiles a token: the event type, or a path in the payload; undefined if it has no value. */
export function compileReading(token: string): (view: TemplateView) => Json | undefined {
  if (token === 'event_type') return (view) => view.eventType;
  const find = compilePath(token);
  return (view) => find(view.payload);
}

/** The text of a value: strings unchanged, lists and objects as JSON up to the limit, other values as JSON. */
export function formatValue(value: Json, limit?: number): string {
  return typeof value === 'string' ? value : stringify(value, limit === undefined ? {} : { limit });
}

/** The text without an unpaired high surrogate at its end. */
function wholeCharacters(text: string): string {
  return /[\uD800-\uDBFF]/.test(text.slice(-1)) ? text.slice(0, -1) : text;
}

function compileToken(token: string, values: 'cut' | 'whole'): (view: TemplateView) => string {
  if (token === '__raw__') {
    return values === 'whole'
      ? (view) => stringify(view.payload)
      : (view) => stringify(view.payload, { limit: rawLimit, indent: 2 });
  }
  const read = compileReading(token);
  const limit = values === 'whole' ? undefined : nestedLimit;
  return (view) => {
    const found = read(view);
    return found === undefined ? `{${token}}` : formatValue(found, limit);
  };
}

function compileValue(value: Json): (view: TemplateView) => Json {
  if (typeof value === 'string') {
    const template = compileTemplate(value);
    return template.render;
  }
  if (Array.isArray(value)) {
    const items = value.map(compileValue);
    return (view) => items.map((item) => item(view));
  }
  if (isJsonObject(value)) {
    const entries = Object.entries(value).map(([key, held]) => [key, compileValue(held)] as const);
    if (entries.length === 0) return () => value;
    return (view) => Object.fromEntries(entries.map(([key, held]) => [key, held(view)]));
  }
  return () => value;
}
