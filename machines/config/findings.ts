/**
 * Collects the findings about one `config.yaml` with their positions, and says what of the file is still usable: which part
 * is stopped, and which keys the schema has rejected.
 * @see CFG-2 and CFG-3 in docs/specification.md
 */

import type { JsonObject } from '../base/json.ts';
import { atOnce, type Pieces } from '../base/pieces.ts';
import {
  byPlace,
  type Diagnostic,
  type DiagnosticScope,
  type EntryFinding,
  findingOfFile,
  sourceAt,
} from './diagnostic.ts';
import { type ConfigDocument, type ConfigPath, type Place, parsingDocument, partsOf } from './document.ts';
import { markingLines } from './masked-source.ts';
import { nearest } from './nearest.ts';
import { homeSchema } from './schema.ts';
import { validate } from './validate.ts';

type Severity = Diagnostic['severity'];

export interface Findings {
  /** The parsed document; what of it can be parsed if it has errors. */
  readonly written: JsonObject;
  /** Adds a finding, by default an error. Its scope is the part of the file that contains it. */
  report(found: EntryFinding, severity?: Severity): void;
  /** Adds a finding of the webhook adapter that is not about a line of the file. */
  reportOutside(place: string, found: Pick<Diagnostic, 'message' | 'code'>, severity?: Severity): void;
  /** A finding with its position in the file; not added. */
  placed(found: EntryFinding, severity: Severity): Diagnostic;
  /** Whether the schema has rejected exactly this path. */
  isRefused(path: ConfigPath): boolean;
  /** The keys of a mapping at or below which the schema has rejected something. */
  unreadAt(at: ConfigPath): ReadonlySet<string>;
  /** A mapping without the keys that the schema has rejected themselves. */
  readable(mapping: JsonObject, ...at: ConfigPath): JsonObject;
  /** Why a part is stopped, by its own error or one of the home; undefined if it is not. */
  problemOf(part: DiagnosticScope): string | undefined;
  /** In file order. */
  all(): readonly Diagnostic[];
}

/**
 * Parses the text and checks it against the schema.
 * @param parsed the text as `parsingConfig` has parsed it
 */
export function* creatingFindings(file: string, text: string, parsed?: ConfigDocument): Pieces<Findings> {
  const document = parsed ?? (yield* parsingDocument(text, homeSchema));
  const written = document.value;
  /** Masked together, because a line may be secret by a key above it, and once: a line may have many findings. */
  let masked = document.findings.length === 0 ? undefined : yield* markingLines(document.lines);
  const sourceOf = ({ line, column }: Place): Pick<Diagnostic, 'sourceLine' | 'sourceOffset'> => {
    masked ??= atOnce(markingLines(document.lines));
    return sourceAt(masked[line - 1] ?? '', column);
  };
  const diagnostics: Diagnostic[] = document.findings.map((found) => ({
    ...found,
    file,
    severity: 'error',
    scope: { kind: 'home' },
    ...sourceOf(found),
  }));

  function placed({ path, message, code }: EntryFinding, severity: Severity): Diagnostic {
    const place = document.place(path);
    return { ...place, file, message, code, severity, scope: scopeOf(path), ...sourceOf(place) };
  }

  const refused = new Set<string>();
  /** The rejected keys at or below each mapping or list, by its path. */
  const unread = new Map<string, Set<string>>();
  for (const part of partsOf(written)) {
    const problems = validate(homeSchema, part);
    if (problems.length > 0) masked ??= yield* markingLines(document.lines);
    for (const found of problems) {
      diagnostics.push(placed(found, 'error'));
      refused.add(keyOf(found.path));
      for (const [depth, step] of found.path.entries()) {
        const at = keyOf(found.path.slice(0, depth));
        unread.set(at, (unread.get(at) ?? new Set()).add(String(step)));
      }
    }
    yield undefined;
  }
  const isRefused = (path: ConfigPath): boolean => refused.has(keyOf(path));

  return {
    written,
    report: (found, severity = 'error') => void diagnostics.push(placed(found, severity)),
    reportOutside(place, found, severity = 'error') {
      diagnostics.push({ ...findingOfFile(place, found, { kind: 'webhook' }), severity });
    },
    placed,
    isRefused,
    unreadAt: (at) => unread.get(keyOf(at)) ?? new Set(),
    readable: (mapping, ...at) =>
      Object.fromEntries(Object.entries(mapping).filter(([key]) => !isRefused([...at, key]))),
    problemOf(part) {
      // A warning, even one of the home, stops nothing.
      const found = diagnostics.find(
        ({ severity, scope }) => severity === 'error' && (scope.kind === 'home' || sameScope(scope, part)),
      );
      return found && `${found.file}:${found.line}: ${found.message}`;
    },
    all: () => [...diagnostics].sort(byPlace),
  };
}

/**
 * Sections, and keys of `gateway`, whose default does no harm where another value was meant. Any other could lose work: with
 * another journal, agent or target, or without the servers, what waits would end wrongly.
 */
const harmlessSections: ReadonlySet<unknown> = new Set(['inspector', 'telemetry', 'log']);
const harmlessGatewayKeys: ReadonlySet<unknown> = new Set(['front', 'node', 'drain_timeout_seconds']);

/** Which part of the gateway a finding at a path stops. A mistyped top-level key counts as the nearest known one. */
function scopeOf(path: ConfigPath): DiagnosticScope {
  const [written, name] = path;
  if (written === 'mcp_servers' && name !== undefined) return { kind: 'server', server: String(name) };
  if (written === 'platforms' && name !== undefined) {
    return name === 'webhook' ? { kind: 'webhook' } : { kind: 'platform', platform: String(name) };
  }
  const section = nearest(String(written), Object.keys(homeSchema.properties)) ?? String(written);
  const isUnknown = path.length > 0 && !Object.hasOwn(homeSchema.properties, section);
  const isHarmless =
    isUnknown || harmlessSections.has(section) || (section === 'gateway' && harmlessGatewayKeys.has(name));
  return isHarmless ? { kind: 'section', section } : { kind: 'home' };
}

function sameScope(one: DiagnosticScope, other: DiagnosticScope): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** Equal for equal paths: an index equals its text. */
function keyOf(path: ConfigPath): string {
  return JSON.stringify(path.map(String));
}
