/**
 * `agent gateway setup`: questions on a terminal, or flags. Changes only what was answered: comments, order and other keys
 * of config.yaml stay, and each secret is written where it takes effect. Sends a first event at the end if wanted.
 * @see CLI-1 and HOME-4 in docs/specification.md
 */

import { Writable } from 'node:stream';
import { bindingFault, whyUnbound } from '../../actors/binding.ts';
import { ensurePrivateFolder, readText, updateFileLocked } from '../../actors/files.ts';
import { placedPaths } from '../../actors/socket-place.ts';
import type { Diagnostic } from '../../machines/config/diagnostic.ts';
import { editConfig, valueAt } from '../../machines/config/edit.ts';
import { editVariable, parseEnvFile } from '../../machines/config/env-file.ts';
import { homePaths } from '../../machines/config/profile.ts';
import { connectControl } from '../../runtime/control/client.ts';
import { NotRunning } from '../call.ts';
import {
  agentOf,
  type CommandContext,
  type ExitCode,
  hasFlag,
  type Output,
  refuse,
  withHomeNamed,
} from '../context.ts';
import { canAsk, loadPrompts, type Prompts, QuestionsLeft } from '../prompts.ts';
import { type Answers, answersOf, hasAnswers, linesAsked, secretOf } from '../setup/answers.ts';
import {
  editsOf,
  placeOfModelKey,
  placeOfSecret,
  placesOfRouteSecrets,
  type SecretPlace,
  type Standing,
  webhookValue,
  withRouteSecrets,
} from '../setup/edits.ts';
import { sendFirstEvent } from '../setup/first-event.ts';
import { wrapped } from '../terminal.ts';
import { reloadGateway, startGateway } from './gateway.ts';

const none = 'no terminal to ask on; answer by flags, such as --enable --port 8644 --secret generate';

export async function setupGateway(context: CommandContext): Promise<ExitCode> {
  const goesOn = hasFlag(context, 'start') || hasFlag(context, 'test');
  if (!hasAnswers(context) && !goesOn) return canAsk() ? setupByQuestions(context) : refuse(context, none, 4);
  const answers = answersOf(context, await inputLines(linesAsked(context), context.out));
  if ('misused' in answers) return refuse(context, answers.misused, 2);
  const written = hasAnswers(context) ? await write(context, answers) : [];
  if (written === undefined) return 1;
  for (const line of written) context.out.print(`${line}\n`);
  // The next command of a script needs what was written.
  if (goesOn || (await isRunning(context))) return startAndTest(context, hasFlag(context, 'test'));
  context.out.print(`Start it with \`${agentOf(context.gateway)} gateway\`.\n`);
  return 0;
}

async function setupByQuestions(context: CommandContext): Promise<ExitCode> {
  const agent = agentOf(context.gateway);
  const prompts = await loadPrompts();
  let written: readonly string[] | undefined;
  try {
    prompts.intro(`agent gateway setup · ${context.home}`);
    const text = await configText(context);
    const answers = await ask(context, prompts, standingIn(text));
    if (answers === undefined) {
      prompts.outro('Nothing was written.');
      return 4;
    }
    written = await write(context, answers);
    if (written === undefined) return 1;
    // Three columns less, for the rule and its two blanks.
    for (const line of written) prompts.step(wrapped(line, context.out.columns - 3, '').join('\n'));
    const wants =
      answers.enabled === true && (await prompts.confirm('Start the gateway and send a first event?', true));
    if (!wants) {
      prompts.outro(`Start it with \`${agent} gateway\`; \`${agent} doctor\` looks it over.`);
      return 0;
    }
  } catch (thrown) {
    if (!(thrown instanceof QuestionsLeft)) throw thrown;
    if (thrown.isCancelled) {
      const rest = written === undefined ? 'Nothing was written.' : 'What was answered before is written.';
      context.out.complain(`Cancelled. ${rest}\n`);
      return 130;
    }
    const why =
      written === undefined ? thrown.message : `what was answered is written; start it with \`${agent} gateway\``;
    return refuse(context, why, written === undefined ? 4 : 0);
  }
  return startAndTest(context, true);
}

async function ask(context: CommandContext, prompts: Prompts, standing: Standing): Promise<Answers | undefined> {
  const { askAll } = await import('../setup/questions.ts');
  const values = await valuesOf(context);
  const variables = new Set(values.keys());
  const hasSecret = hasGlobalSecret(standing, variables);
  const port = values.get('WEBHOOK_PORT');
  return askAll(prompts, { standing, variables, port, hasSecret, isRunning: await isRunning(context) });
}

async function isRunning({ home, env }: CommandContext): Promise<boolean> {
  const running = await connectControl(placedPaths(home, env).socket);
  running?.close();
  return running !== undefined;
}

/** The variables that have a value in `.env`, else in the environment. */
async function valuesOf({ home, env }: CommandContext): Promise<ReadonlyMap<string, string>> {
  const ofFile = parseEnvFile((await readText(homePaths(home).env)) ?? '');
  const set = Object.entries({ ...env, ...Object.fromEntries(ofFile) });
  return new Map(set.flatMap(([name, value = '']) => (value === '' ? [] : [[name, value] as const])));
}

function hasGlobalSecret(standing: Standing, variables: ReadonlySet<string>): boolean {
  return variables.has(placeOfSecret(standing).variable) || webhookValue(standing, 'secret') !== undefined;
}

/** Writes the answers and reports each change; complains and returns undefined if nothing could be written. */
async function write(context: CommandContext, given: Answers): Promise<readonly string[] | undefined> {
  const paths = homePaths(context.home);
  const before = await configText(context);
  const standing = standingIn(before);
  const variables = new Set((await valuesOf(context)).keys());
  const hasGlobal = hasGlobalSecret(standing, variables);
  const answers = withRouteSecrets(given, standing, { variables, hasGlobal, generate: () => secretOf('generate') });
  const draft = editConfig(before, editsOf(answers, standing, variables));
  if (draft === undefined) {
    const why = 'is not YAML, a key on the way is no mapping, or an alias or a merge key gives the value';
    refuse(context, `${paths.config} ${why}; see \`agent config check\`, or change it by hand`, 1);
    return undefined;
  }
  const problem = await problemOf(context, answers, draft);
  if (problem !== undefined) {
    refuse(context, `${problem}; nothing was written`, 1);
    return undefined;
  }
  await ensurePrivateFolder(paths.home);
  // A file that cannot be changed is refused before a variable is written for it.
  await updateFileLocked(paths.config, () => undefined);
  const lines: string[] = [];
  const keep = async (secret: string | undefined, { variable, refersAt, replaces }: SecretPlace): Promise<void> => {
    if (secret === undefined) return;
    // The variable first: a reference must not exist before its variable.
    await updateFileLocked(paths.env, (text) => editVariable(text ?? '', variable, secret));
    lines.push(`Wrote a secret into ${paths.env} as ${variable}.`);
    if (replaces && refersAt !== undefined) {
      lines.push(`${refersAt.join('.')} held a secret that would have won; it refers to \${${variable}} now.`);
    }
  };
  await keep(answers.secret, placeOfSecret(standing));
  const routes = answers.routes ?? [];
  const places = placesOfRouteSecrets(routes, standing, variables);
  for (const { name, secret } of routes) {
    const place = places.get(name);
    if (place === undefined) continue;
    await keep(secret, place);
    lines.push(`Its sender posts to /webhooks/${name} and signs with ${place.variable}.`);
  }
  await keep(answers.model?.key, placeOfModelKey(standing));
  let changed = false;
  await updateFileLocked(paths.config, (text = '') => {
    const edited = editConfig(text, editsOf(answers, standingIn(text), variables));
    changed = edited !== undefined && edited !== text;
    return changed ? edited : undefined;
  });
  if (changed) lines.unshift(`Wrote ${paths.config}.`);
  return lines.length > 0 ? lines : ['Nothing needs to be changed.'];
}

/** Findings that depend on secrets, which are written with the file. */
const ofSecrets: ReadonlySet<string> = new Set(['secret-unresolved', 'secret-weak', 'route-secret-missing']);
/** The flag to change, by the text of a finding. */
const flagOf: readonly (readonly [RegExp, string])[] = [
  [/agent\.model\.base_url/, '--model-url'],
  [/agent\.model|agent-model-missing/, '--model-provider, --model-url and --model-name'],
  [/agent-command-missing/, '--agent-command'],
  [/toolset-unknown/, '--toolsets'],
];

/** Why the answers would make a configuration that cannot start, with the flag to change; undefined if they would not. */
async function problemOf(
  context: CommandContext,
  { host, routes = [] }: Answers,
  draft: string,
): Promise<string | undefined> {
  const rows = routes.length === 0 ? [] : await context.ask('webhook.list', { brief: true });
  const isA = (source: string, name: string): boolean =>
    rows.some((row) => row.name === name && row.source === source && row.profile === 'default');
  const hidden = routes.find(({ name }) => isA('dynamic', name) && !isA('static', name));
  if (hidden !== undefined) {
    const how = withHomeNamed(context.gateway, `\`agent webhook edit ${hidden.name}\` changes it`);
    return `--route ${hidden.name}: a subscription has this name, which a new route would replace; ${how}`;
  }
  const unbound = host === undefined ? undefined : await bindingFault(host, 0);
  if (unbound !== undefined) return `--host "${host}": ${whyUnbound(unbound)}`;
  const stops = ({ severity, code }: Diagnostic): boolean =>
    (severity === 'error' && !ofSecrets.has(code)) || code === 'toolset-unknown';
  const words = ({ message, code }: Diagnostic): string => `${message} [${code}]`;
  const before = new Set((await context.ask('config.check')).map(words));
  const found = (await context.ask('config.check', { text: draft })).find(
    (one) => stops(one) && !before.has(words(one)),
  );
  if (found === undefined) return undefined;
  const flag = flagOf.find(([fits]) => fits.test(words(found)))?.[1];
  return `${flag === undefined ? '' : `${flag}: `}${words(found)}`;
}

/** A running gateway reads the change; otherwise one is started. */
async function startAndTest(context: CommandContext, tests: boolean): Promise<ExitCode> {
  try {
    await reloadGateway(context);
  } catch (thrown) {
    if (!(thrown instanceof NotRunning)) throw thrown;
    const started = await startGateway(context);
    if (started !== 0) return started;
  }
  if (!tests) return 0;
  const outcome = await sendFirstEvent(context);
  if (outcome.kind === 'cancelled') {
    context.out.complain('Cancelled.\n');
    return 130;
  }
  if (outcome.kind === 'failed') {
    const why = `the first event did not go through: ${outcome.why}; \`agent doctor\` looks for the cause`;
    return refuse(context, why, 1);
  }
  const result = wrapped(withHomeNamed(context.gateway, outcome.result), Math.max(40, context.out.columns), '').join(
    '\n',
  );
  context.out.print(`${result}\nMake a route of your own: ${agentOf(context.gateway)} webhook subscribe <name>\n`);
  return 0;
}

async function configText({ home }: CommandContext): Promise<string> {
  return (await readText(homePaths(home).config)) ?? '';
}

function standingIn(text: string): Standing {
  return (...path) => valueAt(text, path);
}

/** Lines of the standard input; a person at a terminal is asked for them, and does not see them. */
export async function inputLines(count: number, out: Output): Promise<readonly string[]> {
  if (count === 0) return [];
  const isTyped = process.stdin.isTTY === true;
  const { createInterface } = await import('node:readline');
  const unseen = new Writable({ write: (_chunk, _encoding, done) => done() });
  const reader = createInterface({ input: process.stdin, ...(isTyped ? { output: unseen, terminal: true } : {}) });
  // A terminal that shows nothing hands over Ctrl-C as a key.
  reader.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  // Asked only now: what is typed before the terminal hides it would be shown.
  if (isTyped) {
    const what = count === 1 ? 'the secret' : `the ${count} secrets, a line each`;
    out.complain(`Type ${what}, then Enter; what you type is not shown.\n`);
  }
  const lines: string[] = [];
  for await (const line of reader) {
    lines.push(line);
    if (lines.length === count) break;
  }
  // A terminal that is only paused keeps the process alive.
  process.stdin.destroy();
  return lines;
}
