/**
 * The setup answers given by flags, and how a typed secret or command is parsed. Absent keys stay unchanged.
 * @see CLI-1 and SEC-6 in docs/specification.md
 */

import { randomBytes } from 'node:crypto';
import { defined } from '../../machines/base/json.ts';
import { dynamicRoutePattern } from '../../machines/base/names.ts';
import { insecureSecret, weaknessOf } from '../../machines/config/secret-strength.ts';
import { splitGlobs } from '../../machines/mcp/glob.ts';
import { type CommandContext, hasFlag, textFlag } from '../context.ts';

export interface Answers {
  readonly enabled?: boolean;
  readonly host?: string;
  readonly port?: number;
  /** Of the inspector page; set if its configured port is taken. */
  readonly inspectorPort?: number;
  /** The global secret. */
  readonly secret?: string;
  readonly routes?: readonly RouteAnswer[];
  readonly allowWeakSecrets?: true;
  readonly runner?: Runner;
  /** The argument vector of a command runner. */
  readonly command?: readonly string[];
  readonly model?: ModelAnswers;
}

/** A route of config.yaml; created if there is none of that name. */
export interface RouteAnswer {
  readonly name: string;
  readonly secret?: string;
  readonly toolsets?: readonly string[];
}

export interface ModelAnswers {
  readonly provider?: string;
  readonly baseUrl?: string;
  readonly name?: string;
  readonly key?: string;
}

const runners = ['echo', 'command', 'model'] as const;
export type Runner = (typeof runners)[number];
export const providers = ['anthropic', 'openai-compatible'] as const;

/** Flags that answer a question; if one is given, nothing is asked. */
const answerFlags = [
  'enable',
  'disable',
  'host',
  'port',
  'secret',
  'weak-secret',
  'route',
  'toolsets',
  'runner',
  'agent-command',
  'model-provider',
  'model-url',
  'model-name',
  'model-key',
] as const;

export function hasAnswers(context: CommandContext): boolean {
  return answerFlags.some((name) => hasFlag(context, name));
}

/** The flags' answers; the parser has checked their formats. A secret given as `-` is read from the input. */
export function answersOf(context: CommandContext, input: readonly string[]): Answers | { readonly misused: string } {
  const [enable, disable] = [hasFlag(context, 'enable'), hasFlag(context, 'disable')];
  if (enable && disable) return { misused: '--enable and --disable exclude each other; give one of them' };
  const lines = [...input];
  const secretFlag = (name: string): string | undefined => {
    const given = textFlag(context, name);
    return given === '-' ? (lines.shift() ?? '') : given;
  };
  const secret = secretFlag('secret');
  const key = secretFlag('model-key');
  const route = textFlag(context, 'route');
  const toolsets = textFlag(context, 'toolsets');
  if (route !== undefined && !dynamicRoutePattern.test(route)) return { misused: `--route "${route}" ${badName}` };
  if (toolsets !== undefined && route === undefined)
    return { misused: '--toolsets needs --route, whose runs have them' };
  const takesWeak = hasFlag(context, 'weak-secret');
  if (takesWeak && secret === undefined) return { misused: '--weak-secret needs --secret, which it is about' };
  const weakness = secret === undefined || secret === '' ? undefined : whyWeak(secret, route);
  if (weakness !== undefined && !takesWeak) {
    return {
      misused: `the secret ${weakness}; give \`generate\` or a better one, or --weak-secret to use it all the same`,
    };
  }
  if (secret === '' || key === '') return { misused: 'a secret given as "-" must be a line of the standard input' };
  const commandText = textFlag(context, 'agent-command');
  const command = commandText === undefined ? undefined : wordsOf(commandText);
  if (command !== undefined && command.length === 0) {
    return { misused: '--agent-command needs a program, and every quote its end' };
  }
  const model = defined({
    provider: textFlag(context, 'model-provider'),
    baseUrl: textFlag(context, 'model-url'),
    name: textFlag(context, 'model-name'),
    key,
  });
  const hasModel = Object.keys(model).length > 0;
  const port = textFlag(context, 'port');
  // Options of a runner select it.
  const runner = textFlag(context, 'runner') ?? (command !== undefined ? 'command' : hasModel ? 'model' : undefined);
  return defined({
    enabled: enable ? true : disable ? false : undefined,
    host: textFlag(context, 'host'),
    port: port === undefined ? undefined : Number(port),
    ...answersOfRoute(secret === undefined ? undefined : secretOf(secret), route, toolsets),
    allowWeakSecrets: weakness === undefined ? undefined : true,
    runner: runner as Runner | undefined,
    command,
    model: hasModel ? model : undefined,
  });
}

/** The secret is the named route's, or the global one if no route is named. */
function answersOfRoute(
  secret: string | undefined,
  name: string | undefined,
  list: string | undefined,
): Pick<Answers, 'secret' | 'routes'> {
  if (name === undefined) return defined({ secret });
  return { routes: [{ name, ...defined({ secret, toolsets: list === undefined ? undefined : splitGlobs(list) }) }] };
}

/** How many lines of the input the flags need. */
export function linesAsked(context: CommandContext): number {
  return ['secret', 'model-key'].filter((name) => textFlag(context, name) === '-').length;
}

export function secretOf(given: string): string {
  return given === 'generate' ? randomBytes(32).toString('hex') : given;
}

export const badName = 'must be lower-case letters, digits, "-" and "_", first a letter or digit';

/** Why a typed secret is rejected, as the predicate of a sentence; undefined if it is strong enough. */
export function whyWeak(secret: string, route?: string): string | undefined {
  if (secret === 'generate') return undefined;
  return secret === insecureSecret ? 'means that no signature is checked' : weaknessOf(secret, route);
}

/** Splits a command as a shell would, without expansion; empty if a quote is not closed. */
export function wordsOf(text: string): readonly string[] {
  const words: string[] = [];
  const piece = /\s*((?:[^\s"'\\]|\\[\s\S]|"(?:[^"\\]|\\[\s\S])*"|'[^']*')+)\s*/y;
  while (piece.lastIndex < text.trimEnd().length) {
    const [, found] = piece.exec(text) ?? [];
    if (found === undefined) return [];
    words.push(
      found.replace(
        /"((?:[^"\\]|\\[\s\S])*)"|'([^']*)'|\\([\s\S])/g,
        (_, double?: string, single?: string, one?: string) =>
          double === undefined ? (single ?? one ?? '') : double.replace(/\\(["\\$`])/g, '$1'),
      ),
    );
  }
  return words;
}
