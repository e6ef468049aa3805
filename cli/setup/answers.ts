/**
 * What the setup was answered, by flags; and how a written secret or command is read. What is absent stays as it is.
 * @see CLI-1 in docs/specification.md
 */

import { randomBytes } from 'node:crypto';
import { type CommandContext, hasFlag, textFlag } from '../context.ts';

export interface Answers {
  readonly enabled?: boolean;
  readonly host?: string;
  readonly port?: number;
  /** Of the inspector page, where the one that stands is taken. */
  readonly inspectorPort?: number;
  readonly secret?: string;
  readonly runner?: Runner;
  /** The argument vector of a command runner. */
  readonly command?: readonly string[];
  readonly model?: ModelAnswers;
}

export interface ModelAnswers {
  readonly provider?: string;
  readonly baseUrl?: string;
  readonly name?: string;
  readonly key?: string;
}

export const runners = ['echo', 'command', 'model'] as const;
export type Runner = (typeof runners)[number];
export const providers = ['anthropic', 'openai-compatible'] as const;

/** Flags that answer something; with any of them nothing is asked. */
const answerFlags = [
  'enable',
  'disable',
  'host',
  'port',
  'secret',
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

/** The answers of the flags; their forms were checked with the words. A secret given as `-` is a line of the input. */
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
  if (secret === '' || key === '') return { misused: 'a secret given as "-" must be a line of the standard input' };
  const commandText = textFlag(context, 'agent-command');
  const command = commandText === undefined ? undefined : wordsOf(commandText);
  if (command !== undefined && command.length === 0) {
    return { misused: '--agent-command needs a program, and every quote its end' };
  }
  const model = definite({
    provider: textFlag(context, 'model-provider'),
    baseUrl: textFlag(context, 'model-url'),
    name: textFlag(context, 'model-name'),
    key,
  });
  const hasModel = Object.keys(model).length > 0;
  const port = textFlag(context, 'port');
  // Telling how a runner runs says that it should.
  const runner = textFlag(context, 'runner') ?? (command !== undefined ? 'command' : hasModel ? 'model' : undefined);
  return definite({
    enabled: enable ? true : disable ? false : undefined,
    host: textFlag(context, 'host'),
    port: port === undefined ? undefined : Number(port),
    secret: secret === undefined ? undefined : secretOf(secret),
    runner: runner as Runner | undefined,
    command,
    model: hasModel ? model : undefined,
  });
}

/** How many lines of the input the flags ask for. */
export function linesAsked(context: CommandContext): number {
  return ['secret', 'model-key'].filter((name) => textFlag(context, name) === '-').length;
}

export function secretOf(given: string): string {
  return given === 'generate' ? randomBytes(32).toString('hex') : given;
}

/** The words of a command as a shell would part them, with nothing expanded; none where a quote has no end. */
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

type Definite<Value> = { readonly [Key in keyof Value]?: Exclude<Value[Key], undefined> };

/** Without the keys that were not answered. */
export function definite<Value extends object>(value: Value): Definite<Value> {
  return Object.fromEntries(Object.entries(value).filter(([, held]) => held !== undefined)) as Definite<Value>;
}
