/**
 * Decides whether a person's rule allows a call without a question, and derives such a rule from a call that a person has
 * seen.
 * @see TRU-3 in docs/specification.md
 */

import { isJsonObject, type Json, type JsonObject } from '../base/json.ts';

/** What a yes covers. `run`: the tool, within the same run; `always`: a rule was written to config.yaml. */
export type Remember = 'call' | 'run' | 'always';

/** An entry of a server's `approvals`: the server's own name of a tool, and the arguments that limit the rule. */
export interface ApprovalRule {
  readonly tool: string;
  /** By path, such as `repo` or `head.ref`; each must be equal. */
  readonly arguments?: Readonly<Record<string, string | number | boolean>>;
}

/** The parts of a call that rules check. */
export interface RuledCall {
  readonly tool: string;
  readonly args: JsonObject;
  readonly destructive: boolean;
  /** The tool as its server lists it. */
  readonly definition: JsonObject;
}

type RuleVerdict =
  | { readonly kind: 'rule'; readonly rule: ApprovalRule }
  | { readonly kind: 'invalid'; readonly why: string };

/** Returns whether a rule covers the call. A destructive tool needs a rule that limits its arguments. */
export function isCovered(rules: readonly ApprovalRule[], call: RuledCall): boolean {
  return rules.some(({ tool, arguments: limits = {} }) => {
    const entries = Object.entries(limits);
    if (tool !== call.tool || (call.destructive && entries.length === 0)) return false;
    return entries.every(([path, value]) => argumentAt(call, path) === value);
  });
}

/**
 * Returns the rule for a tool, limited to the arguments of `where`, which must equal those of the call.
 * @param where values by path; a string also matches the number or boolean that it serializes
 */
export function ruleOf(call: RuledCall, where: JsonObject): RuleVerdict {
  const { tool, destructive } = call;
  const limits: Record<string, string | number | boolean> = {};
  // As a reference, it could become the name of another tool.
  if (tool.includes('${')) return invalid('the name of the tool holds "${", which a rule cannot keep');
  for (const [path, given] of Object.entries(where)) {
    const actual = argumentAt(call, path);
    if (typeof actual !== 'string' && typeof actual !== 'number' && typeof actual !== 'boolean') {
      return invalid(`the call has no text, number or word ${JSON.stringify(path)} among its arguments`);
    }
    if (given !== actual && given !== String(actual)) {
      return invalid(`${JSON.stringify(path)} of this call is another, so the rule would not cover it`);
    }
    if (String(actual).includes('${')) return invalid(`${JSON.stringify(path)} holds "\${", which a rule cannot keep`);
    limits[path] = actual;
  }
  const isLimited = Object.keys(limits).length > 0;
  if (destructive && !isLimited) {
    return invalid('its server marks the tool as destructive; limit the rule to an argument of this call');
  }
  return { kind: 'rule', rule: isLimited ? { tool, arguments: limits } : { tool } };
}

function invalid(why: string): RuleVerdict {
  return { kind: 'invalid', why };
}

/**
 * The value at a path. A key that contains the dots itself counts only if the tool declares it and nothing on the path, so
 * that a key which the tool ignores cannot satisfy a rule on the value that it reads. Undefined if the call has both.
 */
function argumentAt({ args, definition }: RuledCall, path: string): Json | undefined {
  const [first = '', ...rest] = path.split('.');
  let at: Json | undefined = Object.hasOwn(args, first) ? args[first] : undefined;
  if (rest.length > 0 && Object.hasOwn(args, path)) {
    const { properties } = isJsonObject(definition.inputSchema) ? definition.inputSchema : {};
    const declares = (key: string): boolean => isJsonObject(properties) && Object.hasOwn(properties, key);
    return at === undefined && declares(path) && !declares(first) ? args[path] : undefined;
  }
  for (const step of rest) at = isJsonObject(at) && Object.hasOwn(at, step) ? at[step] : undefined;
  return at;
}
