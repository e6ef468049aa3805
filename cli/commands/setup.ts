/**
 * `agent gateway setup`: a few questions, each also a flag. Changes what was answered and nothing else: comments, order
 * and other keys of config.yaml stay, and the secret goes where it takes effect.
 * @see CLI-1 and HOME-4
 */

import { randomBytes } from 'node:crypto';
import { createInterface } from 'node:readline/promises';
import type { Json } from '../../machines/base/json.ts';
import type { ConfigEdit } from '../../machines/config/edit.ts';
import { homePaths } from '../../machines/config/profile.ts';
import type { ExitCode } from '../catalogue.ts';
import { type CommandContext, hasFlag, textFlag } from '../context.ts';

/** What was answered; what is absent stays as it is. */
interface Answers {
  readonly enabled?: boolean;
  readonly host?: string;
  readonly port?: number;
  readonly secret?: string;
}

/** Reads what config.yaml says now at a key of `platforms.webhook`. */
type Standing = (...path: readonly string[]) => Json | undefined;

const none = 'no terminal to ask on; answer by flags, such as --enable --port 8644 --secret generate';
const adapter = ['platforms', 'webhook'];
/** A value that is one reference to a variable and nothing else. */
const reference = /^\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)\}$/;
/** References that are no variables. */
const known: ReadonlySet<string> = new Set(['userHome', 'workspaceFolder', 'workspaceFolderBasename', 'pathSeparator']);

export async function setupGateway(context: CommandContext): Promise<ExitCode> {
  if (hasFlag(context, 'enable') && hasFlag(context, 'disable')) {
    context.out.complain('agent: --enable and --disable exclude each other; give one of them\n');
    return 2;
  }
  const [{ editConfig, editVariable, valueAt }, { ensurePrivateFolder, readText, updateFileLocked }] =
    await Promise.all([import('../../machines/config/edit.ts'), import('../../actors/files.ts')]);
  const paths = homePaths(context.home);
  const before = (await readText(paths.config)) ?? '';
  const standing: Standing = (...path) => valueAt(before, [...adapter, ...path]);
  const answers =
    process.stdin.isTTY === true && !hasAnswers(context) ? await ask(context, standing) : fromFlags(context);
  if (typeof answers === 'string') {
    context.out.complain(`agent: ${answers}\n`);
    return 4;
  }
  await ensurePrivateFolder(paths.home);
  if (editConfig(before, editsOf(answers, standing)) === undefined) {
    context.out.complain(
      `agent: ${paths.config} is not YAML, or platforms.webhook is no mapping; see \`agent config check\`\n`,
    );
    return 1;
  }
  const { secret } = answers;
  const told: string[] = [];
  if (secret !== undefined) {
    const { variable, replaced } = placeOfSecret(standing);
    // First the variable: a reference to it must not stand before it does.
    await updateFileLocked(paths.env, (text) => editVariable(text ?? '', variable, secret));
    told.push(`Wrote the secret into ${paths.env} as ${variable}.`);
    if (replaced !== undefined) {
      told.push(`${replaced.join('.')} held a secret that would have won; it refers to \${${variable}} now.`);
    }
  }
  let wrote = false;
  await updateFileLocked(paths.config, (text = '') => {
    const now: Standing = (...path) => valueAt(text, [...adapter, ...path]);
    const edited = editConfig(text, editsOf(answers, now));
    wrote = edited !== undefined && edited !== text;
    return wrote ? edited : undefined;
  });
  if (wrote) told.unshift(`Wrote ${paths.config}.`);
  if (told.length === 0) told.push('Everything stands so already.');
  context.out.print(
    `${told.join('\n')}\nStart it with \`agent gateway\`, or let it read the change with \`agent gateway reload\`.\n`,
  );
  return 0;
}

function hasAnswers(context: CommandContext): boolean {
  return ['enable', 'disable', 'host', 'port', 'secret'].some((name) => hasFlag(context, name));
}

/** The answers of the flags; the text of what is missing. Their forms were checked with the words. */
function fromFlags(context: CommandContext): Answers | string {
  if (!hasAnswers(context)) return none;
  const host = textFlag(context, 'host');
  const port = textFlag(context, 'port');
  const secret = textFlag(context, 'secret');
  return {
    ...(hasFlag(context, 'enable') ? { enabled: true } : {}),
    ...(hasFlag(context, 'disable') ? { enabled: false } : {}),
    ...(host === undefined ? {} : { host }),
    ...(port === undefined ? {} : { port: Number(port) }),
    ...(secret === undefined ? {} : { secret: secretOf(secret) }),
  };
}

async function ask(context: CommandContext, standing: Standing): Promise<Answers | string> {
  const prompt = createInterface({ input: process.stdin, output: process.stdout });
  const isEnabled = standing('enabled') !== false;
  const shown = (key: string, otherwise: string): string => String(held(standing, key) ?? otherwise);
  try {
    const enabled = await prompt.question(`Enable webhooks? [${isEnabled ? 'Y/n' : 'y/N'}] `);
    const host = await prompt.question(`Bind address [${shown('host', '0.0.0.0')}] `);
    const port = await prompt.question(`Port [${shown('port', '8644')}] `);
    const secret = await prompt.question('Global HMAC secret (empty: leave it as it is; "generate": make one) ');
    if (port !== '' && !isPort(port)) return 'the port must be a whole number from 0 to 65535; nothing was written';
    return {
      enabled: enabled === '' ? isEnabled : !/^n/i.test(enabled),
      ...(host === '' ? {} : { host }),
      ...(port === '' ? {} : { port: Number(port) }),
      ...(secret === '' ? {} : { secret: secretOf(secret) }),
    };
  } catch {
    context.out.complain('\n');
    return 'the questions were not answered; nothing was written';
  } finally {
    prompt.close();
  }
}

function editsOf({ enabled, host, port, secret }: Answers, standing: Standing): readonly ConfigEdit[] {
  const edits: ConfigEdit[] = [];
  if (enabled !== undefined) edits.push({ path: [...adapter, 'enabled'], value: enabled });
  if (host !== undefined) edits.push({ path: pathOf(standing, 'host'), value: host });
  if (port !== undefined) edits.push({ path: pathOf(standing, 'port'), value: port });
  const { variable, replaced } = placeOfSecret(standing);
  if (secret !== undefined && replaced !== undefined) edits.push({ path: replaced, value: `\${${variable}}` });
  return edits;
}

/** Where a key takes effect (ADP-1): under `extra`, else beside it where it stands there. */
function pathOf(standing: Standing, key: string): readonly string[] {
  const isDirect = standing('extra', key) === undefined && standing(key) !== undefined;
  return [...adapter, ...(isDirect ? [] : ['extra']), key];
}

function held(standing: Standing, key: string): Json | undefined {
  return standing('extra', key) ?? standing(key);
}

/** The variable that the secret comes from, and the key to be changed so that it does. */
function placeOfSecret(standing: Standing): { readonly variable: string; readonly replaced?: readonly string[] } {
  const secret = held(standing, 'secret');
  if (secret === undefined) return { variable: 'WEBHOOK_SECRET' };
  const named = typeof secret === 'string' ? reference.exec(secret)?.[1] : undefined;
  if (named !== undefined && !known.has(named)) return { variable: named };
  return { variable: 'WEBHOOK_SECRET', replaced: pathOf(standing, 'secret') };
}

function isPort(text: string): boolean {
  return /^\d{1,5}$/.test(text) && Number(text) <= 65_535;
}

function secretOf(given: string): string {
  return given === 'generate' ? randomBytes(32).toString('hex') : given;
}
