/**
 * `agent mcp import`: imports the MCP servers of other agent programs. Shows what it found, asks, writes secrets into .env
 * and entries into config.yaml. A server whose name is taken is skipped, or added under another name.
 * @see CLI-5 and HOME-4 in docs/specification.md
 */

import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import {
  blockLacksServers,
  type ForeignConfig,
  planForeign,
  readForeignBlock,
  readForeignConfigs,
} from '../../actors/config/foreign-configs.ts';
import { userHomeFolder } from '../../actors/user-home.ts';
import { isJsonObject, type JsonObject, scalarText } from '../../machines/base/json.ts';
import type { ProfileName } from '../../machines/base/names.ts';
import {
  inQuotes,
  nameInSentence,
  shownText,
  withoutGaps,
  wordInSentence,
  wordOfCommand,
} from '../../machines/base/shown-json.ts';
import { profilePaths } from '../../machines/config/profile.ts';
import { isReservedVariable } from '../../machines/config/program-variables.ts';
import { type ForeignProgram, foreignFiles, programTitles } from '../../machines/mcp/foreign-files.ts';
import { loweredGuards } from '../../machines/mcp/link-guards.ts';
import type { ImportItem } from '../../machines/mcp/plan-import.ts';
import type { Result } from '../../runtime/control/contract.ts';
import { type CommandContext, type ExitCode, hasFlag, profileFlag, textFlag, withHomeNamed } from '../context.ts';
import { canAsk, loadPrompts, type Prompts, QuestionsLeft } from '../prompts.ts';
import { bold, dim, oneLine, printJson, wrapped } from '../terminal.ts';

export async function importServers(context: CommandContext): Promise<ExitCode> {
  const { out } = context;
  const profile = profileFlag(context);
  const paths = profilePaths(context.home, profile);
  const configs = await found(context);
  for (const { file, problem } of configs) {
    if (problem === undefined) continue;
    const cure = problem === blockLacksServers ? '; --from names the program of another form' : '';
    out.complain(`agent: ${oneLine(file.path)}: ${oneLine(problem)}${cure}; it is passed over\n`);
  }
  const plan = await planForeign(configs, { paths, places: placesOf(context) });
  if (plan.length === 0) return nothingFound(context, configs);
  const wantsJson = hasFlag(context, 'json');
  if (!wantsJson) out.print(describe(context, plan) + elsewhere(context, configs));
  const open = plan.filter(({ standing }) => standing.kind === 'new' || standing.kind === 'taken');
  const offered = open.filter(
    (item) =>
      (item.standing.kind === 'new' || hasFlag(context, 'rename')) && (hasFlag(context, 'project') || !item.isProject),
  );
  if (hasFlag(context, 'dry-run')) {
    const { failed } = await add(context, offered, { profile, dry: true });
    for (const { name, why } of failed)
      out.complain(`agent: ${oneLine(name)}: ${oneLine(why)}; it would not be added\n`);
    if (wantsJson) printJson(context, plan.map(rowOf));
    else out.print('Nothing was written: --dry-run.\n');
    return 0;
  }
  if (open.length === 0) {
    if (wantsJson) printJson(context, plan.map(rowOf));
    else out.print('There is nothing to add.\n');
    return 0;
  }
  let chosen: readonly ImportItem[];
  try {
    chosen = hasFlag(context, 'yes') ? withoutUnnamed(context, offered) : await choose(context, open, offered);
  } catch (thrown) {
    if (!(thrown instanceof QuestionsLeft)) throw thrown;
    out.complain(thrown.isCancelled ? 'Cancelled. Nothing was written.\n' : `agent: ${thrown.message}\n`);
    return thrown.isCancelled ? 130 : 4;
  }
  const code = await write(context, { chosen, plan, profile });
  const isHeldBack = hasFlag(context, 'yes') && chosen.length < offered.length;
  return code === 0 && isHeldBack ? 4 : code;
}

/**
 * Variables that the server of a checkout or of a block would get and `--variables` does not name; a person has to allow them
 * (SEC-2).
 */
function unnamed(context: CommandContext, { isProject, uses }: ImportItem): ImportItem['uses'] {
  const named = new Set((textFlag(context, 'variables') ?? '').split(',').map((name) => name.trim()));
  return isProject || hasFlag(context, 'file') ? uses.filter(({ variable }) => !named.has(variable)) : [];
}

/** The servers that `--yes` may add: it alone allows no variable reference of such a server, set or not. */
function withoutUnnamed(context: CommandContext, offered: readonly ImportItem[]): readonly ImportItem[] {
  return offered.filter((item) => {
    const open = unnamed(context, item);
    if (open.length === 0) return true;
    const names = open.map(({ variable }) => nameInSentence(variable)).join(',');
    context.out.complain(
      `agent: ${oneLine(item.name)}: it ${wordsOf(open)}; it is not added without --variables ${names}\n`,
    );
    return false;
  });
}

function wordsOf(uses: ImportItem['uses']): string {
  return uses.map(({ words }) => words).join(', ');
}

/** Text of another program's file, made safe for one line of our output. */
function shown(text: string): string {
  return withoutGaps(shownText(text)).replace(/\s+/g, ' ').trim();
}

async function found(context: CommandContext): Promise<readonly ForeignConfig[]> {
  const from = textFlag(context, 'from');
  const path = textFlag(context, 'file');
  if (path !== undefined) {
    const file = path === '-' ? '/dev/stdin' : resolve(path);
    // A socket, which programs of Node.js give their children, cannot be opened; a stream read to its end asks nothing more.
    const read = path === '-' && !process.stdin.isTTY ? () => text(process.stdin) : undefined;
    if (path === '-' && canAsk()) context.out.complain('Paste the block, then press Ctrl-D on a line of its own.\n');
    return [await readForeignBlock(file, placesOf(context), from as ForeignProgram | undefined, read)];
  }
  const configs = await readForeignConfigs(placesOf(context));
  return configs.filter(({ file }) => from === undefined || file.program === from);
}

function placesOf({ env }: CommandContext): Parameters<typeof foreignFiles>[0] {
  return { platform: process.platform, userHome: env.HOME ?? userHomeFolder(), folder: process.cwd(), env };
}

function nothingFound(context: CommandContext, configs: readonly ForeignConfig[]): ExitCode {
  // The problem of the file has been reported.
  if (hasFlag(context, 'file')) return 1;
  const from = textFlag(context, 'from');
  const looked = foreignFiles(placesOf(context)).filter(({ program }) => from === undefined || program === from);
  context.out.complain(
    `agent: no MCP servers were found; looked for\n${looked.map(({ path }) => `  ${oneLine(path)}\n`).join('')}${elsewhere(context, configs)}Add one by hand: agent mcp add\n`,
  );
  return 1;
}

/**
 * Chooses the servers to add. Without a terminal there is no person to ask, and a person who wants JSON is not shown what
 * the questions are about.
 */
async function choose(
  context: CommandContext,
  open: readonly ImportItem[],
  offered: readonly ImportItem[],
): Promise<readonly ImportItem[]> {
  if (!canAsk() || hasFlag(context, 'json')) {
    const why = canAsk() ? 'with --json nothing is asked' : 'no terminal to ask on';
    throw new QuestionsLeft(`${why}; --yes adds what is new, --dry-run only shows it`);
  }
  const prompts = await loadPrompts();
  let chosen = offered;
  if (!hasFlag(context, 'all')) {
    chosen = await prompts.several(
      'Which of them?',
      open.map((item) => ({
        value: item,
        label: item.name,
        hint:
          item.standing.kind === 'taken'
            ? `${inQuotes(item.foreignName)} is taken here`
            : programTitles[item.file.program],
      })),
      offered,
    );
  }
  if (chosen.length === 0) return [];
  const names = chosen.map(({ name }) => name).join(', ');
  if (!(await prompts.confirm(`Add ${names}?`, true))) return [];
  const allowed: ImportItem[] = [];
  for (const item of chosen) {
    const open = unnamed(context, item);
    const question = `${item.name} is of a file that others may have written, and ${wordsOf(open)}. Allow that?`;
    if (open.length === 0 || (await prompts.confirm(question, false))) allowed.push(item);
  }
  return fillIn(allowed, prompts);
}

/** Asks for the values that the other program would ask for, or reads from its environment. */
async function fillIn(chosen: readonly ImportItem[], prompts: Prompts): Promise<readonly ImportItem[]> {
  const answers = new Map<string, string>();
  for (const { variable, why } of chosen.flatMap(({ missing }) => missing)) {
    // A variable that configures the gateway must not be set here, where the question is about a server.
    if (answers.has(variable) || isReservedVariable(variable)) continue;
    answers.set(variable, await prompts.secret(`${variable}: ${why} (empty: later)`));
  }
  return chosen.map((item) => {
    const given = item.missing.flatMap(({ variable }) => {
      const value = answers.get(variable) ?? '';
      return value === '' ? [] : [{ variable, value }];
    });
    return { ...item, variables: [...item.variables, ...given] };
  });
}

interface Writing {
  readonly chosen: readonly ImportItem[];
  readonly plan: readonly ImportItem[];
  readonly profile: ProfileName;
}

async function write(context: CommandContext, { chosen, plan, profile }: Writing): Promise<ExitCode> {
  const { out } = context;
  const { added, failed, not_in_force: notInForce } = await add(context, chosen, { profile });
  for (const { name, why } of failed) out.complain(`agent: ${oneLine(name)}: ${oneLine(why)}; it is not added\n`);
  if (notInForce !== undefined) out.complain(`agent: what was added is not in force: ${oneLine(notInForce)}\n`);
  if (hasFlag(context, 'json'))
    printJson(
      context,
      plan.map((item) => ({ ...rowOf(item), added: added.includes(item.name) })),
    );
  else if (added.length === 0) out.print('Nothing was added.\n');
  else
    out.print(
      `Added ${added.map(oneLine).join(', ')}. ${withHomeNamed(context.gateway, 'A running gateway connects them by itself; see `agent mcp list`.')}\n`,
    );
  const unset = chosen.filter(({ name }) => added.includes(name)).flatMap(({ missing }) => missing);
  if (unset.length > 0 && !hasFlag(context, 'json'))
    out.print(`Put into .env: ${[...new Set(unset.map(({ variable }) => variable))].map(oneLine).join(', ')}\n`);
  return failed.length > 0 || notInForce !== undefined ? 1 : 0;
}

async function add(
  context: CommandContext,
  items: readonly ImportItem[],
  options: { readonly profile: ProfileName; readonly dry?: true },
): Promise<Result<'mcp.import'>> {
  if (items.length === 0) return { added: [], failed: [] };
  const servers = items.map(({ name, entry, variables }) => ({
    name,
    entry,
    variables: Object.fromEntries(variables.map(({ variable, value }) => [variable, value])),
  }));
  return context.ask('mcp.import', { names: items.map(({ name }) => name), servers, ...options });
}

/** The servers grouped by file: how each is reached, and all remarks to read before saying yes. */
function describe(context: CommandContext, plan: readonly ImportItem[]): string {
  const { out } = context;
  const lines: string[] = [];
  const width = Math.max(40, out.columns - 6);
  const offered = plan.filter(({ standing }) => standing.kind === 'new' || standing.kind === 'taken');
  const [first, ...rest] = offered.map(({ entry }) => loweredGuards(entry));
  // What is true of all is said once, at the end.
  const shared = rest.length === 0 ? [] : (first ?? []).filter((words) => rest.every((texts) => texts.includes(words)));
  let path = '';
  for (const item of plan) {
    if (item.file.path !== path) {
      path = item.file.path;
      if (lines.length > 0) lines.push('');
      lines.push(`${bold(out, programTitles[item.file.program])}  ${dim(out, oneLine(path))}`);
    }
    const name = item.standing.kind === 'taken' ? wordInSentence(item.foreignName) : item.name;
    // Continuation lines are indented further, so that text of the file cannot pose as one of our lines.
    const [head = '', ...more] = wrapped(`${name}  ${shown(reached(item.entry))}`, width, '      ');
    const title = head.startsWith(name) ? `${bold(out, name)}${head.slice(name.length)}` : head;
    lines.push(...[title, ...more].map((line) => `  ${line}`));
    for (const remark of remarks(item).filter((words) => !shared.includes(words)))
      lines.push(...wrapped(shown(remark), width, '  ').map((line) => `      ${line}`));
  }
  if (shared.length > 0) lines.push('', 'All of them');
  for (const words of shared) lines.push(...wrapped(shown(words), width, '  ').map((line) => `      ${line}`));
  return `${lines.join('\n')}\n\n`;
}

/** Servers that a program has for other folders, with the folder to run the command in. */
function elsewhere({ out }: CommandContext, configs: readonly ForeignConfig[]): string {
  const lines = configs.flatMap(({ file, elsewhere: others }) =>
    others.flatMap(({ folder, names }) =>
      wrapped(
        oneLine(
          `${programTitles[file.program]} has ${names.map(wordInSentence).join(', ')} for ${wordInSentence(folder)}: run the import in that folder`,
        ),
        Math.max(40, out.columns),
        '',
      ),
    ),
  );
  return lines.length === 0 ? '' : `${lines.join('\n')}\n\n`;
}

function remarks({ standing, variables, uses, missing, notes, name, entry, isProject }: ImportItem): readonly string[] {
  const texts: string[] = [];
  if (standing.kind === 'unusable') texts.push(`cannot be imported: ${standing.why}`);
  if (standing.kind === 'same') texts.push('the same one is here already, or above');
  if (standing.kind === 'taken') {
    texts.push(`its name is taken here: skipped, or added as ${name} where you choose it or pass --rename`);
  }
  if (standing.kind === 'unusable' || standing.kind === 'same') return texts;
  if (variables.length > 0) texts.push(`into .env: ${variables.map(({ variable }) => variable).join(', ')}`);
  for (const { words } of uses) texts.push(words);
  if (isJsonObject(entry.headers))
    texts.push(`headers: it sends ${Object.keys(entry.headers).map(wordInSentence).join(', ')}`);
  for (const { variable, why } of missing) texts.push(`put ${variable} into .env: ${why}`);
  if (isProject) {
    texts.push(
      'its file lies in a folder that others may have written: added only where you choose it or pass --project',
    );
  }
  if (isProject && uses.length > 0) {
    texts.push('its variables are allowed one server at a time, or by name with --variables');
  }
  return [...texts, ...loweredGuards(entry), ...notes];
}

function reached(entry: JsonObject): string {
  if (typeof entry.url === 'string') return wordOfCommand(entry.url);
  if (entry.command === undefined) return '';
  const args = Array.isArray(entry.args) ? entry.args : [];
  return [entry.command, ...args].map((word) => wordOfCommand(scalarText(word))).join(' ');
}

/** The row for scripts, without variable values. */
function rowOf(item: ImportItem): JsonObject {
  const { file, isProject, foreignName, name, entry, variables, uses, missing, notes, standing } = item;
  return {
    name,
    from: file.program,
    file: file.path,
    project: isProject,
    foreign_name: foreignName,
    entry,
    variables: variables.map(({ variable }) => variable),
    uses: uses.map(({ variable, words }) => ({ variable, words })),
    missing: missing.map(({ variable }) => variable),
    notes,
    standing: standing.kind,
    ...(standing.kind === 'unusable' ? { why: standing.why } : {}),
  };
}
