/**
 * The words of the manual that all pages share: exit codes, variables, files. What is said of one command is in the catalogue.
 * @see CLI-2 in docs/specification.md
 */

import type { ExitCode } from './context.ts';

export const exitMeanings: Readonly<Record<ExitCode, string>> = {
  0: 'Done.',
  1: 'Failed or refused; the message says why.',
  2: 'The words or flags are wrong; nothing was done.',
  3: 'The gateway of the home is not running.',
  4: 'A person is needed: there is no terminal to ask on, or there was no answer.',
  130: 'Cancelled by Ctrl-C.',
};

export const variables = {
  AGENT_HOME: 'The home, unless --home names one or AGENT_SOCKET is set; ~/.agent unless set.',
  AGENT_SOCKET:
    'The socket of a run, which the gateway sets for its program; counts before AGENT_HOME, and --home before both.',
  NO_COLOR: 'Set to anything, it switches colours off; so does TERM=dumb.',
  WEBHOOK_ENABLED: 'Enables webhooks where config.yaml does not say.',
  WEBHOOK_PORT: 'The listen port where config.yaml does not say.',
  WEBHOOK_SECRET: 'The global secret where config.yaml does not say.',
  VISUAL: 'The editor of `config edit` and `events replay --edit`; else EDITOR, else vi.',
  EDITOR: 'The editor where VISUAL is not set.',
  AGENT_LOG_LEVEL: 'What the log shows: debug, info, warn or error; in the environment alone, not in .env.',
} as const;

export type VariableName = keyof typeof variables;

export const files = {
  'config.yaml': 'The configuration; comments and order are kept by every command that changes it.',
  '.env': 'Secrets, one NAME=value a line; readable by its owner alone.',
  'gateway.sock': 'The control socket that the commands speak to.',
  'gateway.lock': 'Held by the running gateway, so that there is one to a home.',
  'webhook_subscriptions.json': 'The dynamic subscriptions.',
  'cron/jobs.json': 'The cron jobs.',
  'mcp-tokens/': 'Credentials of logins, one file a server.',
  'logs/': 'What the background gateway and the servers wrote.',
  'state/': 'The journal: every event, run and delivery.',
} as const;

export type FileName = keyof typeof files;
