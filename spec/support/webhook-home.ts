/** A home whose one webhook adapter listens on loopback, and the command line's JSON about it. */

import { askCli } from './daemon.ts';

export const secret = 'in-force-secret-in-force';

export function webhookConfig(routes: string, { port = 0, more = '', webhook = '' } = {}): string {
  return `${more}
platforms:
  github_comment: {enabled: true, command: ./scripts/gh.sh}
  webhook:
    enabled: true
    ${webhook}
    extra:
      host: 127.0.0.1
      port: ${port}
      secret: ${secret}
      routes:
${routes}`;
}

/** What a command prints with `--json`. */
export const cliJson = async (home: string, ...words: string[]): Promise<unknown> =>
  JSON.parse((await askCli([...words, '--json'], home)).stdout);
