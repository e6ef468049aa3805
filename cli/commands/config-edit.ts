/**
 * `agent config edit`: opens a draft of config.yaml in an editor and checks it before it replaces the file. A draft with
 * errors is kept and never replaces it, so the running configuration cannot break.
 * @see CLI-6 in docs/specification.md
 */

import { existsSync, readdirSync, rmdirSync, rmSync } from 'node:fs';
import { ensurePrivateFolder, readText, updateFileLocked } from '../../actors/files.ts';
import { type Diagnostic, printDiagnostic } from '../../machines/config/diagnostic.ts';
import { type ProfilePaths, profilePaths } from '../../machines/config/profile.ts';
import { type CommandContext, type ExitCode, profileFlag, refuse } from '../context.ts';
import { makeDraft, openEditor } from '../editor.ts';
import { canAsk, loadPrompts, QuestionsLeft } from '../prompts.ts';
import { oneLine, plain } from '../terminal.ts';

export async function editConfigFile(context: CommandContext): Promise<ExitCode> {
  const { out, home } = context;
  const paths = profilePaths(home, profileFlag(context));
  const isNewHome = !existsSync(home);
  await ensurePrivateFolder(home);
  const before = await readText(paths.config);
  // The folder of a mistyped profile would be served as one, so it is made when the draft is saved.
  const folder = existsSync(paths.home) ? paths.home : home;
  const draft = makeDraft((number) => `${folder}/config.draft-${number}.yaml`, before ?? '');
  const leave = (why: string, code: ExitCode = 1): ExitCode => {
    out.complain(`agent: ${why}; ${oneLine(paths.config)} is unchanged, and the draft is ${oneLine(draft)}\n`);
    return code;
  };
  for (;;) {
    const problem = await openEditor(context, draft);
    const text = (await readText(draft)) ?? before ?? '';
    if (text === (before ?? '')) {
      rmSync(draft, { force: true });
      if (isNewHome && readdirSync(home).length === 0) rmdirSync(home);
      if (problem !== undefined) return refuse(context, `${problem}; nothing was changed`, 1);
      out.print('Nothing was changed.\n');
      return 0;
    }
    if (problem !== undefined) return leave(problem);
    const findings = await findingsOf(context, text);
    for (const one of findings) out.complain(`${plain(printDiagnostic(one))}\n\n`);
    const errors = findings.filter(stopsMore).length;
    if (errors === 0) return await save(paths, { before, text }, { context, draft, leave });
    const broken = `the draft has ${errors === 1 ? 'an error' : `${errors} errors`}`;
    if (!canAsk()) return leave(broken);
    try {
      const { confirm } = await loadPrompts();
      if (!(await confirm('The draft has errors. Continue editing?', true))) return leave(broken);
    } catch (thrown) {
      if (!(thrown instanceof QuestionsLeft)) throw thrown;
      out.complain('Cancelled.\n');
      return leave(broken, 130);
    }
  }
}

interface Edited {
  readonly before: string | undefined;
  readonly text: string;
}

interface Edit {
  readonly context: CommandContext;
  readonly draft: string;
  readonly leave: (why: string) => ExitCode;
}

/** Refuses if the file has changed since the draft was made: the draft lacks that change. */
async function save(
  { home, config }: ProfilePaths,
  { before, text }: Edited,
  { context, draft, leave }: Edit,
): Promise<ExitCode> {
  let isStale = false;
  await ensurePrivateFolder(home);
  await updateFileLocked(config, (now) => {
    isStale = now !== before;
    return isStale ? undefined : text;
  });
  if (isStale) return leave('the file was changed by something else while you edited');
  rmSync(draft, { force: true });
  context.out.print(`Saved ${oneLine(config)}. A running gateway applies it by itself.\n`);
  return 0;
}

async function findingsOf(context: CommandContext, text: string): Promise<readonly Diagnostic[]> {
  const profile = profileFlag(context);
  const file = profile === 'default' ? 'config.yaml' : `profiles/${profile}/config.yaml`;
  const found = await context.ask('config.check', { profile, text });
  return found.filter((one) => one.file === file);
}

/** A finding of one MCP server or platform stops only that one, as on reload. */
function stopsMore({ severity, scope: { kind } }: Diagnostic): boolean {
  return severity === 'error' && kind !== 'server' && kind !== 'platform';
}
