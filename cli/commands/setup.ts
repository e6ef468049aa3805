/** `agent gateway setup`: a few questions, each also a flag; comments in config.yaml stay. @see CLI-1 and HOME-4 */

import { randomBytes } from 'node:crypto';
import { createInterface } from 'node:readline/promises';
import { homePaths } from '../../machines/config/profile.ts';
import type { ExitCode } from '../catalogue.ts';
import { type CommandContext, hasFlag, textFlag } from '../context.ts';

interface Answers {
  readonly enabled: boolean;
  readonly host: string;
  readonly port: number;
  readonly secret: string | undefined;
}

export async function setupGateway(context: CommandContext): Promise<ExitCode> {
  const answers = process.stdin.isTTY === true && !hasAnswers(context) ? await ask(context) : fromFlags(context);
  if (typeof answers === 'string') {
    context.out.complain(`agent: ${answers}\n`);
    return 4;
  }
  const [{ editConfig }, { ensurePrivateFolder, updateFileLocked }] = await Promise.all([
    import('../../machines/config/edit.ts'),
    import('../../actors/files.ts'),
  ]);
  const paths = homePaths(context.home);
  await ensurePrivateFolder(paths.home);
  let broken = false;
  await updateFileLocked(paths.config, (text) => {
    const edited = editConfig(text ?? '', [
      { path: ['platforms', 'webhook', 'enabled'], value: answers.enabled },
      { path: ['platforms', 'webhook', 'extra', 'host'], value: answers.host },
      { path: ['platforms', 'webhook', 'extra', 'port'], value: answers.port },
    ]);
    broken = edited === undefined;
    return edited;
  });
  if (broken) {
    context.out.complain(`agent: ${paths.config} is not YAML; see \`agent config check\`\n`);
    return 1;
  }
  const { secret } = answers;
  if (secret !== undefined) {
    await updateFileLocked(paths.env, (text = '') => {
      const others = text.split('\n').filter((line) => line !== '' && !/^(export )?WEBHOOK_SECRET=/.test(line));
      return `${[...others, `WEBHOOK_SECRET=${JSON.stringify(secret)}`].join('\n')}\n`;
    });
  }
  context.out.print(
    `Wrote ${paths.config}${secret === undefined ? '' : ` and the secret into ${paths.env}`}.\nStart it with \`agent gateway\`, or let it read the change with \`agent gateway reload\`.\n`,
  );
  return 0;
}

function hasAnswers(context: CommandContext): boolean {
  return ['enable', 'disable', 'host', 'port', 'secret'].some((name) => hasFlag(context, name));
}

/** The answers of the flags; the text of what is missing or unfit. */
function fromFlags(context: CommandContext): Answers | string {
  if (!hasAnswers(context))
    return 'no terminal to ask on; answer by flags, such as --enable --port 8644 --secret generate';
  const port = Number(textFlag(context, 'port') ?? '8644');
  if (!Number.isInteger(port) || port < 0 || port > 65_535) return '--port must be a whole number from 0 to 65535';
  return {
    enabled: !hasFlag(context, 'disable'),
    host: textFlag(context, 'host') ?? '0.0.0.0',
    port,
    secret: secretOf(textFlag(context, 'secret')),
  };
}

async function ask(context: CommandContext): Promise<Answers | string> {
  const prompt = createInterface({ input: process.stdin, output: process.stdout });
  try {
    const enabled = !/^n/i.test(await prompt.question('Enable webhooks? [Y/n] '));
    const host = (await prompt.question('Bind address [0.0.0.0] ')) || '0.0.0.0';
    const port = Number((await prompt.question('Port [8644] ')) || '8644');
    const secret = await prompt.question('Global HMAC secret (empty: generate one; "keep": leave it) ');
    if (!Number.isInteger(port) || port < 0 || port > 65_535) return 'the port must be a whole number from 0 to 65535';
    return {
      enabled,
      host,
      port,
      secret: secret === 'keep' ? undefined : secretOf(secret === '' ? 'generate' : secret),
    };
  } catch {
    context.out.complain('\n');
    return 'the questions were not answered; nothing was written';
  } finally {
    prompt.close();
  }
}

function secretOf(given: string | undefined): string | undefined {
  return given === 'generate' ? randomBytes(32).toString('hex') : given;
}
