/**
 * Creates the example home at the first start: the files of the repository and a new secret, so that a new user sees a
 * signed event become a run within a minute.
 */

import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, relative, resolve } from 'node:path';
import { ensurePrivateFolder, updateFileLocked, writeFileAtomic } from '../../actors/files.ts';
import { userHomeFolder } from '../../actors/user-home.ts';
import { shellWord } from '../../machines/base/shell-word.ts';
import { parseEnvFile } from '../../machines/config/env-file.ts';
import { homeOf } from '../../machines/config/profile.ts';
import { exampleHomeFolder, mainFile } from './package-files.ts';

interface ExampleHome {
  readonly home: string;
  /** What to try first, ready to paste. */
  readonly greeting: string;
}

/** AGENT_HOME where it is set, else `.agent` in the working folder. An existing home is used as it is. */
export async function makeExampleHome(env: Readonly<Record<string, string | undefined>>): Promise<ExampleHome> {
  const named = env.AGENT_HOME === undefined ? undefined : homeOf(env, userHomeFolder());
  const home = resolve(named ?? '.agent');
  await ensurePrivateFolder(home);
  if (!existsSync(`${home}/config.yaml`)) {
    // The configuration last: it is what a home that was made completely has.
    for (const name of ['scripts/triage.mjs', 'config.yaml']) {
      const path = `${home}/${name}`;
      await ensurePrivateFolder(dirname(path));
      await writeFileAtomic(path, readFileSync(`${exampleHomeFolder}/${name}`, 'utf8'));
    }
  }
  await updateFileLocked(`${home}/.env`, (text = '') => {
    if (parseEnvFile(text).has('WEBHOOK_SECRET')) return undefined;
    // The last line of a file may lack its line end.
    const lines = text === '' || text.endsWith('\n') ? text : `${text}\n`;
    return `${lines}WEBHOOK_SECRET=${randomBytes(32).toString('hex')}\n`;
  });
  return { home, greeting: greetingOf(home) };
}

/** The command that started this process, as it is typed. */
function startedAs(): string {
  const program = process.argv[1] ?? mainFile;
  return basename(program) === 'agent' ? 'agent' : `node ${shellWord(relative('.', program))}`;
}

/** The secret itself is not printed: the command reads it from the file. */
function greetingOf(home: string): string {
  return `Home: ${home}
Once it listens, post a signed event from another terminal:

  SECRET=$(sed -n 's/^WEBHOOK_SECRET=//p' ${shellWord(`${home}/.env`)})
  BODY='{"action":"opened","number":1,"pull_request":{"title":"Fix the login page"},"repository":{"full_name":"acme/site"}}'
  curl -i http://127.0.0.1:8644/webhooks/github \\
    -H 'Content-Type: application/json' -H 'X-GitHub-Event: pull_request' \\
    -H "X-Hub-Signature-256: sha256=$(printf %s "$BODY" | openssl dgst -sha256 -hmac "$SECRET" -r | cut -d' ' -f1)" \\
    -d "$BODY"

Then look: AGENT_HOME=${shellWord(home)} ${startedAs()} events

`;
}
