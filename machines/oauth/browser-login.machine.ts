/**
 * One login to one server through a browser: OAuth 2.1 with PKCE. Old credentials stay until new ones are stored; only the
 * transition into the logged-in state writes. The wiring keeps URLs, codes and tokens.
 * @see OAU-1, OAU-4, OAU-6, OAU-7 and OAU-8 in docs/specification.md
 */

import { assign, setup } from 'xstate';
import { effect, itsOutput, promisePlaceholder } from '../base/declare.ts';
import { loginCommand } from './login-hint.ts';
import {
  cancelling,
  isDone,
  type LoginEnd,
  type LoginEvent,
  type LoginInput,
  loginStep,
  type StepFailure,
  type StepVerdict,
} from './login-step.ts';

export interface BrowserLoginContext extends LoginInput, LoginEnd {
  readonly flow: 'browser';
  /** How the client identifies itself to the authorization server. */
  readonly identity: 'configured' | 'document' | 'stored' | 'registered' | null;
  /** The metadata document's URL, if one is used. */
  readonly document: string | null;
  readonly documentRefused: boolean;
  /** The registration of an earlier login is no longer valid. */
  readonly storedRefused: boolean;
}

export type IdentifyVerdict =
  | {
      readonly kind: 'done';
      readonly identity: NonNullable<BrowserLoginContext['identity']>;
      readonly document: string | null;
    }
  | ({ readonly kind: 'failed' } & StepFailure);
export type ExchangeVerdict = StepVerdict | { readonly kind: 'clientRefused'; readonly why: string };

/** After this, the person has to start again. */
export const redirectTimeoutMs = 300_000;

export const browserLoginMachine = setup({
  types: {
    input: {} as LoginInput,
    context: {} as BrowserLoginContext,
    events: {} as LoginEvent,
    output: {} as BrowserLoginContext,
  },
  actors: {
    discover: promisePlaceholder<StepVerdict, BrowserLoginContext>('discover'),
    bindPort: promisePlaceholder<StepVerdict, BrowserLoginContext>('bindPort'),
    identifyClient: promisePlaceholder<IdentifyVerdict, BrowserLoginContext>('identifyClient'),
    awaitRedirect: promisePlaceholder<StepVerdict, BrowserLoginContext>('awaitRedirect'),
    exchangeCode: promisePlaceholder<ExchangeVerdict, BrowserLoginContext>('exchangeCode'),
    storeCredentials: promisePlaceholder<StepVerdict, BrowserLoginContext>('storeCredentials'),
  },
  actions: {
    /** Opens the browser and reports the URL to the caller. */
    announceUrl: effect('announceUrl'),
    /** Closes the listener of the redirect. */
    release: effect('release'),
    recordRefusal: effect('recordRefusal'),
    rememberIdentity: assign((_, params: Pick<BrowserLoginContext, 'identity' | 'document'>) => params),
    rememberRefusal: assign({ documentRefused: true }),
    rememberLoss: assign({ storedRefused: true }),
    rememberWhy: assign((_, { why, errorCode }: StepFailure) => ({ why, errorCode: errorCode ?? null })),
    rememberTimeout: assign(({ context }) => ({ why: timeoutText(context) })),
  },
  guards: {
    isDone: (_, verdict: ExchangeVerdict) => verdict.kind === 'done',
    refusesDocument: ({ context }, verdict: ExchangeVerdict) =>
      verdict.kind === 'clientRefused' && context.identity === 'document' && !context.documentRefused,
    refusesStored: ({ context }, verdict: ExchangeVerdict) =>
      verdict.kind === 'clientRefused' && context.identity === 'stored' && !context.storedRefused,
  },
  delays: { redirectTimeout: redirectTimeoutMs },
}).createMachine({
  id: 'browserLogin',
  context: ({ input }) => ({
    ...input,
    flow: 'browser',
    identity: null,
    document: null,
    documentRefused: false,
    storedRefused: false,
    why: null,
    errorCode: null,
  }),
  initial: 'discovering',
  output: ({ context }) => context,
  on: { 'login.cancel': cancelling },
  states: {
    discovering: {
      description: 'Finds the authorization server of the MCP server, and reads its metadata.',
      meta: { rule: 'OAU-1' },
      tags: ['working'],
      invoke: loginStep('discover', 'looking for metadata', { guard: isDone, target: 'bindingPort' }),
    },
    bindingPort: {
      description: 'Binds the loopback port of the redirect, and holds it until the redirect has come.',
      meta: { rule: 'OAU-6' },
      tags: ['working'],
      invoke: loginStep('bindPort', 'binding a port', { guard: isDone, target: 'identifying' }),
    },
    identifying: {
      description: 'Chooses the client: the configured one, a metadata document, an earlier or a new registration.',
      meta: { rule: 'OAU-4' },
      tags: ['working'],
      invoke: loginStep('identifyClient', 'registering', {
        guard: isDone,
        target: 'awaitingRedirect',
        actions: { type: 'rememberIdentity', params: identified },
      }),
    },
    awaitingRedirect: {
      description: 'The browser is with the authorization server; its redirect, or a pasted URL, brings the code.',
      meta: { rule: 'OAU-8' },
      tags: ['needsUser'],
      entry: 'announceUrl',
      invoke: loginStep('awaitRedirect', 'waiting for the redirect', { guard: isDone, target: 'exchanging' }),
      after: { redirectTimeout: { target: 'stopped', actions: 'rememberTimeout' } },
    },
    exchanging: {
      description: 'Exchanges the code for tokens.',
      meta: { rule: 'OAU-1' },
      tags: ['working'],
      invoke: loginStep(
        'exchangeCode',
        'exchanging the code',
        { guard: isDone, target: 'storing' },
        {
          guard: { type: 'refusesDocument', params: itsOutput },
          target: 'identifying',
          actions: ['rememberRefusal', 'recordRefusal'],
        },
        { guard: { type: 'refusesStored', params: itsOutput }, target: 'identifying', actions: 'rememberLoss' },
      ),
    },
    storing: {
      description: 'Writes the credentials completely or not at all: the only step that replaces old ones.',
      meta: { rule: 'OAU-8' },
      tags: ['working'],
      invoke: loginStep('storeCredentials', 'storing the credentials', { guard: isDone, target: 'loggedIn' }),
      // Too late: the write in progress cannot be undone, so the login must not be reported as cancelled.
      on: { 'login.cancel': {} },
    },
    loggedIn: {
      description: 'The credentials are stored; the connection is made anew with them.',
      meta: { rule: 'OAU-8' },
      tags: ['ended'],
      type: 'final',
      entry: 'release',
    },
    stopped: {
      description: 'The login ended without new credentials; the old ones are untouched.',
      meta: { rule: 'OAU-8' },
      tags: ['ended'],
      type: 'final',
      entry: 'release',
    },
  },
});

function timeoutText({ server, profile, document, identity }: BrowserLoginContext): string {
  const minutes = redirectTimeoutMs / 60_000;
  const base = `mcp server "${server}": the login was not completed within ${minutes} minutes`;
  if (identity === 'stored') {
    return `${base}; if the browser showed an unknown client, begin again: the next login registers anew`;
  }
  const again = `begin again with \`${loginCommand(server, profile)}\``;
  if (identity === 'configured') {
    const redirect = 'if the browser refused the redirect, register it for oauth.client_id and set oauth.redirect_port';
    return `${base}; ${redirect}; ${again}`;
  }
  if (document === null) return `${base}; ${again}`;
  return `${base}; if the browser showed an invalid client, the authorization server could not fetch or accept the client metadata document ${document}: set oauth.cimd: false to register instead`;
}

function identified({
  event: { output },
}: {
  event: { output: IdentifyVerdict };
}): Pick<BrowserLoginContext, 'identity' | 'document'> {
  return output.kind === 'done'
    ? { identity: output.identity, document: output.document }
    : { identity: null, document: null };
}
