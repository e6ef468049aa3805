/**
 * Templates of prompts and delivery texts: substitution and nothing else. A template is taken apart once per route; to
 * render it is to join its parts. What was substituted is never read again.
 * @see TPL-1 and TPL-2 in docs/specification.md
 */

import { compilePath, isJsonObject, type Json, type JsonObject, spell } from '../base/json.ts';
import { templateToken } from '../config/route.ts';

export interface TemplateView {
  readonly payload: JsonObject;
  /** The resolved event type, which `{event_type}` means. */
  readonly eventType: string;
}

export interface CompiledTemplate {
  /** The tokens in the order in which they stand, without braces. */
  readonly tokens: readonly string[];
  render(view: TemplateView): string;
}

export interface CompiledExtra {
  render(view: TemplateView): JsonObject;
}

/** Characters of the whole payload that a prompt shows. */
const rawLimit = 4_000;
/** Characters of a nested list or object that a prompt shows. */
const nestedLimit = 2_000;

/**
 * UTF-16 units of a rendered text. A token may be named thousands of times and a text be as long as a body: their product
 * must not exhaust the memory.
 */
const renderedLimit = 16 * 1_048_576;

/** Compiles a template; its values are cut as people read them, or stand whole where they tell events apart. */
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
      // A token that is named often is looked up and serialized once.
      const found: string[] = [];
      let rendered = '';
      for (const [index, slot] of order.entries()) {
        const text = found[slot] ?? substitutes[slot]?.(view) ?? '';
        found[slot] = text;
        rendered += literals[index] + text;
        if (rendered.length > renderedLimit) return wholeCharacters(rendered.slice(0, renderedLimit));
      }
      return rendered + tail;
    },
  };
}

/** Without a prompt the whole payload is the prompt. */
export function compilePrompt(prompt: string | undefined): CompiledTemplate {
  return compileTemplate(prompt ?? '{__raw__}');
}

/** Compiles the string values of a mapping at any depth; keys and other values stay as they are. */
export function compileExtra(extra: JsonObject): CompiledExtra {
  const render = compileValue(extra);
  return { render: (view) => render(view) as JsonObject };
}

/** What a token means: the event type, or a path in the payload; undefined where there is nothing. */
export function compileReading(token: string): (view: TemplateView) => Json | undefined {
  if (token === 'event_type') return (view) => view.eventType;
  const find = compilePath(token);
  return (view) => find(view.payload);
}

/** The text of a value: strings as they are, lists and objects as JSON up to the limit, the rest in JSON's notation. */
export function spellValue(value: Json, limit?: number): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'object' && value !== null) return spell(value, limit === undefined ? {} : { limit });
  return JSON.stringify(value);
}

/** The text without the half of a character at its end. */
function wholeCharacters(text: string): string {
  return /[\uD800-\uDBFF]/.test(text.slice(-1)) ? text.slice(0, -1) : text;
}

function compileToken(token: string, values: 'cut' | 'whole'): (view: TemplateView) => string {
  if (token === '__raw__') {
    return values === 'whole'
      ? (view) => spell(view.payload)
      : (view) => spell(view.payload, { limit: rawLimit, indent: 2 });
  }
  const read = compileReading(token);
  const limit = values === 'whole' ? undefined : nestedLimit;
  return (view) => {
    const found = read(view);
    return found === undefined ? `{${token}}` : spellValue(found, limit);
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
    return (view) => Object.fromEntries(entries.map(([key, held]) => [key, held(view)]));
  }
  return () => value;
}
