/**
 * Decides whether an event passes a route's filters, and which condition failed. Conditions are compiled once; a malformed
 * one is a finding at start, never a silent mismatch. Values are compared without coercion.
 * @see FIL-1 to FIL-4 in docs/specification.md
 */

import { compilePath, isJsonObject, type Json, type JsonObject, sameJson } from '../base/json.ts';
import {
  type ConditionSource,
  type FilterOperator as Operator,
  filterOperators as operators,
} from '../config/route.ts';
import { headerText } from './envelope.ts';
import { compilePattern } from './pattern.ts';

export interface ListMembership {
  /** A text says why the list decides nothing now; it may do so later. */
  has(value: Json): boolean | string;
}

export interface FilterView {
  readonly payload: JsonObject;
  readonly event: string;
  /** Lower-case names; values as Latin-1 text. */
  readonly headers: Readonly<Record<string, string>>;
  /** A list file by its name; undefined if it cannot be read. */
  readonly list: (file: string) => ListMembership | undefined;
}

/** A condition with the value that it was tested against. */
export interface Tried {
  /** The path of the condition in `filters`. */
  readonly path: readonly (string | number)[];
  /** Empty for a group. */
  readonly field: string;
  readonly operator: string;
  readonly operand: Json;
  /** The field's value; undefined if it was missing. */
  readonly saw: Json | undefined;
  /** Why the condition could not be tested; neither it nor its negation holds then. */
  readonly undecided?: string;
  /** If undecided: the same event may be decided when it is sent again. */
  readonly mayDecideLater?: true;
  /** Why it could not hold for any value of the field. */
  readonly because?: string;
  /** For a group: the failed conditions of `any`, or those under `not` that held. */
  readonly inner?: readonly Tried[];
}

export type FilterVerdict = { readonly kind: 'matched' } | ({ readonly kind: 'unmatched' } & Tried);

export interface FilterMatcher {
  /** The list files that the conditions name, each with the path of its name. */
  readonly lists: readonly ListUse[];
  /** The headers that the conditions read, in lower case. */
  readonly headers: readonly string[];
  match(view: FilterView): FilterVerdict;
}

interface ListUse {
  readonly path: readonly (string | number)[];
  readonly file: string;
}

interface FilterProblem {
  readonly path: readonly (string | number)[];
  readonly message: string;
  readonly code:
    | 'filter-malformed'
    | 'filter-operator'
    | 'filter-operand'
    | 'filter-regex'
    | 'filter-empty'
    | 'filter-list-outside';
}

type CompiledFilters =
  | { readonly ok: true; readonly value: FilterMatcher }
  | { readonly ok: false; readonly problems: readonly FilterProblem[]; readonly lists: readonly ListUse[] };

type Path = readonly (string | number)[];
interface Test {
  /** Tests each condition at most once. The conditions that held are collected only if `asks` is set. */
  judge(view: FilterView, asks: boolean): Tried | Held | undefined;
}
/** The conditions that made a test hold. */
interface Held {
  readonly held: readonly Tried[];
}
/** Whether a value passes; else why this is undecided, or why no value could pass. */
type ValueTest = (
  saw: Json | undefined,
  view: FilterView,
) => boolean | Pick<Tried, 'undecided' | 'mayDecideLater' | 'because'>;

interface Gathered {
  readonly problems: FilterProblem[];
  readonly lists: ListUse[];
  readonly headers: Set<string>;
  readonly isOutside: (file: string) => boolean;
}

const matched: FilterVerdict = { kind: 'matched' };
const unreadableList = { because: 'the list cannot be read' } as const;
/** Placeholder for an unusable condition; never used for matching, because its finding rejects all of them. */
const always: Test = { judge: () => undefined };
/** Steps to the innermost condition: far more than a person writes, and few enough for recursion. */
const deepestPath = 200;
const groups = ['all', 'any', 'not'] as const;

/**
 * Compiles conditions, all of which must match; an empty list matches everything.
 * @param isOutside whether a list's name leads out of the home; injected by the caller
 */
export function compileFilters(
  conditions: readonly ConditionSource[],
  isOutside: (file: string) => boolean = () => false,
): CompiledFilters {
  const gathered: Gathered = { problems: [], lists: [], headers: new Set(), isOutside };
  const { judge } = all(conditions.map((condition, index) => compileCondition(condition, [index], gathered)));
  if (gathered.problems.length > 0) return { ok: false, problems: gathered.problems, lists: gathered.lists };
  const match = (view: FilterView): FilterVerdict => {
    const judged = judge(view, false);
    return holds(judged) ? matched : { kind: 'unmatched', ...judged };
  };
  return { ok: true, value: { lists: gathered.lists, headers: [...gathered.headers], match } };
}

function compileCondition(condition: Json, path: Path, gathered: Gathered): Test {
  const flawed = flawedAt(path, gathered);
  if (path.length > deepestPath) return flawed('filter-malformed', 'groups are nested too deep; take levels out');
  if (!isJsonObject(condition))
    return flawed('filter-malformed', 'a condition is a mapping with a field and one operator');
  const group = groups.filter((name) => Object.hasOwn(condition, name));
  if (group.length > 0) return compileGroup(condition, group, path, gathered);
  return compileTest(condition, path, gathered);
}

function compileGroup(condition: JsonObject, names: readonly string[], path: Path, gathered: Gathered): Test {
  const [name] = names;
  const others = Object.keys(condition).filter((key) => key !== name);
  if (name === undefined || others.length > 0) {
    const found = `a group holds nothing beside "${name}"; found ${others.join(', ')}`;
    return flawedAt(path, gathered)('filter-malformed', found);
  }
  const within = [...path, name];
  const flawed = flawedAt(within, gathered);
  const held = condition[name] ?? null;
  const list = Array.isArray(held) ? held : name === 'not' ? [held] : undefined;
  if (list === undefined) return flawed('filter-malformed', `"${name}" takes a list of conditions`);
  if (list.length === 0) {
    const so = name === 'all' ? 'it says nothing' : 'no event could ever pass';
    return flawed('filter-empty', `"${name}" holds no condition, so that ${so}`);
  }
  const tests = list.map((inner, index) =>
    compileCondition(inner, Array.isArray(held) ? [...within, index] : within, gathered),
  );
  if (name === 'any') return any(tests, within);
  return name === 'not' ? not(all(tests), within) : all(tests);
}

function compileTest(condition: JsonObject, path: Path, gathered: Gathered): Test {
  const flawed = flawedAt(path, gathered);
  const { field } = condition;
  if (typeof field !== 'string' || field === '')
    return flawed('filter-malformed', 'a condition names a "field", or is a group: all, any, not');
  const keys = Object.keys(condition).filter((key) => key !== 'field');
  const unknown = keys.find((key) => !operators.includes(key as Operator));
  if (unknown !== undefined)
    return flawed('filter-operator', `unknown operator "${unknown}"; known are ${operators.join(', ')}`);
  const [operator] = keys;
  if (operator === undefined || keys.length !== 1) {
    const found = keys.length === 0 ? 'none' : keys.join(' and ');
    return flawed('filter-operator', `a condition has exactly one operator; found ${found}`);
  }
  const operand = condition[operator] ?? null;
  const test = compileOperator(operator as Operator, operand, [...path, operator], gathered);
  const read = compileField(field, gathered);
  if (test === undefined) return always;
  return {
    judge(view, asks) {
      const saw = read(view);
      const passes = test(saw, view);
      if (passes === true && !asks) return undefined;
      const tried = { path, field, operator, operand, saw };
      if (passes === true) return { held: [tried] };
      return passes === false ? tried : { ...tried, ...passes };
    },
  };
}

function compileField(field: string, gathered: Gathered): (view: FilterView) => Json | undefined {
  if (field === 'event' || field === 'event_type') return (view) => view.event;
  if (field.startsWith('headers.')) {
    const name = field.slice('headers.'.length).toLowerCase();
    gathered.headers.add(name);
    return (view) => (Object.hasOwn(view.headers, name) ? headerText(view.headers[name] ?? '') : undefined);
  }
  if (!field.startsWith('payload.')) {
    const find = compilePath(field);
    return (view) => find(view.payload);
  }
  const find = compilePath(field.slice('payload.'.length));
  // `payload.x` reads from a top-level `payload` object if the sender wraps one, else from the body itself.
  return (view) => {
    const wrapped = Object.hasOwn(view.payload, 'payload') ? view.payload.payload : undefined;
    return find(isJsonObject(wrapped) ? wrapped : view.payload);
  };
}

function compileOperator(operator: Operator, operand: Json, path: Path, gathered: Gathered): ValueTest | undefined {
  const refuse = (message: string, code: FilterProblem['code'] = 'filter-operand'): undefined => {
    gathered.problems.push({ path, message, code });
    return undefined;
  };
  switch (operator) {
    case 'exists':
    case 'missing': {
      if (typeof operand !== 'boolean') return refuse(`"${operator}" takes true or false`);
      const wanted = operator === 'exists' ? operand : !operand;
      return (saw) => (saw !== undefined) === wanted;
    }
    case 'equals':
      return (saw) => saw !== undefined && sameJson(saw, operand);
    case 'not_equals':
      return (saw) => saw === undefined || !sameJson(saw, operand);
    case 'contains':
      return (saw) => contains(saw, operand);
    case 'in': {
      if (!Array.isArray(operand)) return refuse('"in" takes a list');
      const list: readonly Json[] = operand;
      if (list.length === 0) return refuse('"in" takes a list of at least one value', 'filter-empty');
      return (saw) => saw !== undefined && list.some((item) => sameJson(item, saw));
    }
    case 'in_file': {
      if (typeof operand !== 'string' || operand === '')
        return refuse('"in_file" takes the name of a file in the home');
      if (gathered.isOutside(operand))
        return refuse(`"in_file" names "${operand}", which lies outside of the home`, 'filter-list-outside');
      gathered.lists.push({ path, file: operand });
      return (saw, view) => {
        if (saw === undefined) return false;
        const list = view.list(operand);
        if (list === undefined) return unreadableList;
        const has = list.has(saw);
        return typeof has === 'string' ? { undecided: has, mayDecideLater: true } : has;
      };
    }
    case 'regex': {
      if (typeof operand !== 'string') return refuse('"regex" takes a pattern');
      const pattern = compilePattern(operand);
      if (!pattern.ok) return refuse(`"regex" cannot be compiled: ${pattern.why}`, 'filter-regex');
      const { search, maxTextLength } = pattern;
      return (saw) => {
        if (typeof saw !== 'string') return false;
        const verdict = search(saw);
        if (verdict !== 'tooLong') return verdict === 'found';
        return {
          undecided: `the text has ${saw.length} characters; this pattern searches at most ${maxTextLength}`,
        };
      };
    }
  }
}

function contains(saw: Json | undefined, operand: Json): boolean {
  if (typeof saw === 'string') return typeof operand === 'string' && saw.includes(operand);
  if (Array.isArray(saw)) return (saw as readonly Json[]).some((item) => sameJson(item, operand));
  return isJsonObject(saw) && typeof operand === 'string' && Object.hasOwn(saw, operand);
}

function holds(judged: Tried | Held | undefined): judged is Held | undefined {
  return judged === undefined || 'held' in judged;
}

/** The first of two undecided conditions, unless only the second may be decided later: then the result may be, too. */
function sooner(first: Tried | undefined, second: Tried): Tried {
  return first === undefined || (second.mayDecideLater && !first.mayDecideLater) ? second : first;
}

/** The three groups use three-valued logic: the result is undecided unless the other conditions decide it. */
function all(tests: readonly Test[]): Test {
  return {
    judge(view, asks) {
      const held: Tried[] | undefined = asks ? [] : undefined;
      let undecided: Tried | undefined;
      for (const test of tests) {
        const judged = test.judge(view, asks);
        if (holds(judged)) held?.push(...(judged?.held ?? []));
        else if (judged.undecided === undefined) return judged;
        else undecided = sooner(undecided, judged);
      }
      return undecided ?? (held && { held });
    },
  };
}

function any(tests: readonly Test[], path: Path): Test {
  return {
    judge(view, asks) {
      const inner: Tried[] = [];
      for (const test of tests) {
        const judged = test.judge(view, asks);
        if (holds(judged)) return judged;
        inner.push(judged);
      }
      const undecided = inner.filter(({ undecided }) => undecided !== undefined).reduce(sooner, undefined);
      const [only] = inner;
      if (only !== undefined && inner.length === 1) return only;
      return undecided ?? { path, field: '', operator: 'any', operand: null, saw: undefined, inner };
    },
  };
}

/** Always collects the held conditions, because they are the reason why `not` fails. */
function not(test: Test, path: Path): Test {
  const tried = (inner: readonly Tried[]): Tried => ({
    path,
    field: '',
    operator: 'not',
    operand: null,
    saw: undefined,
    inner,
  });
  return {
    judge(view, asks) {
      const judged = test.judge(view, true);
      if (holds(judged)) return tried(judged?.held ?? []);
      if (judged.undecided !== undefined) return judged;
      return asks ? { held: [tried([judged])] } : undefined;
    },
  };
}

function flawedAt(path: Path, { problems }: Gathered): (code: FilterProblem['code'], message: string) => Test {
  return (code, message) => {
    problems.push({ path, message, code });
    return always;
  };
}

const operatorWords: Readonly<Record<string, string>> = {
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
  if (Array.isArray(all)) return groupWords(all, 'and');
  if (Array.isArray(any)) return groupWords(any, 'or');
  if (isJsonObject(not)) return `not (${filterWords(not)})`;
  if (Array.isArray(not)) return `not (${groupWords(not, 'and')})`;
  const name = typeof field === 'string' ? field : 'the payload';
  const tests = Object.entries(condition).flatMap(([key, value]) => {
    if (key === 'exists' || key === 'missing')
      return [(value === false) === (key === 'exists') ? 'is missing' : 'exists'];
    const words = Object.hasOwn(operatorWords, key) ? operatorWords[key] : undefined;
    return words === undefined ? [] : [`${words} ${valueWords(value)}`];
  });
  return `${name} ${tests.join(' and ')}`.trim();
}

function groupWords(conditions: readonly Json[], word: string): string {
  return conditions.map((one) => (isJsonObject(one) ? `(${filterWords(one)})` : '')).join(` ${word} `);
}

function valueWords(value: Json | undefined): string {
  if (Array.isArray(value)) return value.map((one: Json) => valueWords(one)).join(', ');
  return typeof value === 'string' ? value : JSON.stringify(value);
}
