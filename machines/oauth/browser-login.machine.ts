/**
 * One login to one server through a browser: OAuth 2.1 with PKCE. Old credentials stay until new ones are stored; only the
 * transition into the logged-in state writes. The wiring keeps URLs, codes and tokens.
 * @see OAU-1, OAU-4, OAU-6, OAU-7 and OAU-8 in docs/specification.md
 */

import { assign, setup } from 'xstate';
import { effect, promiseHole } from '../base/declare.ts';
import { loginCommand } from './login-hint.ts';

export interface LoginInput {
  readonly id: string;
  readonly profile: string;
  readonly server: string;
  readonly startedFrom: 'terminal' | 'page';
}

export interface BrowserLoginContext extends LoginInput {
  readonly flow: 'browser';
  /** How the client identifies itself to the authorization server. */
  readonly identity: 'configured' | 'document' | 'stored' | 'registered' | null;
  /** The metadata document's URL, if one is used. */
  readonly document: string | null;
  readonly documentRefused: boolean;
  /** The registration of an earlier login is no longer valid. */
  readonly storedRefused: boolean;
  /** Why the login stopped. */
  readonly why: string | null;
  /** The OAuth error code with which the authorization server stopped it (RFC 6749 §4.1.2.1 and §5.2). */
  readonly errorCode: string | null;
}

/** Why a step failed. */
export interface StepFailure {
  readonly why: string;
  /** The OAuth error code of the authorization server's answer. */
  readonly errorCode?: string;
}

export type StepVerdict = { readonly kind: 'done' } | ({ readonly kind: 'failed' } & StepFailure);
export type IdentifyVerdict =
  | {
      readonly kind: 'done';
      readonly identity: NonNullable<BrowserLoginContext['identity']>;
      readonly document: string | null;
    }
  | ({ readonly kind: 'failed' } & StepFailure);
export type ExchangeVerdict = StepVerdict | { readonly kind: 'clientRefused'; readonly why: string };

/** Without a reason, a person cancelled it. */
export type LoginEvent = { readonly type: 'login.cancel'; readonly why?: string };
export type BrowserLoginOutput = BrowserLoginContext;

/** After this, the person has to start again. */
export const redirectTimeoutMs = 300_000;

export const browserLoginMachine = setup({
  types: {
    input: {} as LoginInput,
    context: {} as BrowserLoginContext,
    events: {} as LoginEvent,
    output: {} as BrowserLoginOutput,
  },
  actors: {
    discover: promiseHole<StepVerdict, BrowserLoginContext>('discover'),
    bindPort: promiseHole<StepVerdict, BrowserLoginContext>('bindPort'),
    identifyClient: promiseHole<IdentifyVerdict, BrowserLoginContext>('identifyClient'),
    awaitRedirect: promiseHole<StepVerdict, BrowserLoginContext>('awaitRedirect'),
    exchangeCode: promiseHole<ExchangeVerdict, BrowserLoginContext>('exchangeCode'),
    storeCredentials: promiseHole<StepVerdict, BrowserLoginContext>('storeCredentials'),
  },
  actions: {
    /** Opens the browser and reports the URL to the caller. */
    announceUrl: effect('announceUrl'),
    /** Releases the port and all secrets. */
    letGo: effect('letGo'),
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
  on: {
    'login.cancel': {
      target: '.stopped',
      actions: { type: 'rememberWhy', params: ({ event }) => cancelled(event) },
    },
  },
  states: {
    discovering: {
      description: 'Asks the server who protects it, and that authorization server what it can do.',
      meta: { rule: 'OAU-1' },
      tags: ['working'],
      invoke: {
        id: 'discover',
        src: 'discover',
        input: ({ context }) => context,
        onDone: [
          { guard: { type: 'isDone', params: ({ event }) => event.output }, target: 'bindingPort' },
          { target: 'stopped', actions: { type: 'rememberWhy', params: ({ event }) => whyOf(event.output) } },
        ],
        onError: { target: 'stopped', actions: { type: 'rememberWhy', params: crashed('looking for metadata') } },
      },
    },
    bindingPort: {
      description: 'Binds the loopback port of the redirect, and holds it until the redirect has come.',
      meta: { rule: 'OAU-6' },
      tags: ['working'],
      invoke: {
        id: 'bindPort',
        src: 'bindPort',
        input: ({ context }) => context,
        onDone: [
          { guard: { type: 'isDone', params: ({ event }) => event.output }, target: 'identifying' },
          { target: 'stopped', actions: { type: 'rememberWhy', params: ({ event }) => whyOf(event.output) } },
        ],
        onError: { target: 'stopped', actions: { type: 'rememberWhy', params: crashed('binding a port') } },
      },
    },
    identifying: {
      description: 'Becomes a client: the configured one, by a metadata document, by an old or a new registration.',
      meta: { rule: 'OAU-4' },
      tags: ['working'],
      invoke: {
        id: 'identifyClient',
        src: 'identifyClient',
        input: ({ context }) => context,
        onDone: [
          {
            guard: { type: 'isDone', params: ({ event }) => event.output },
            target: 'awaitingRedirect',
            actions: { type: 'rememberIdentity', params: ({ event }) => identityOf(event.output) },
          },
          { target: 'stopped', actions: { type: 'rememberWhy', params: ({ event }) => whyOf(event.output) } },
        ],
        onError: { target: 'stopped', actions: { type: 'rememberWhy', params: crashed('registering') } },
      },
    },
    awaitingRedirect: {
      description: 'The browser is with the authorization server; its redirect, or a pasted URL, brings the code.',
      meta: { rule: 'OAU-8' },
      tags: ['needsUser'],
      entry: 'announceUrl',
      invoke: {
        id: 'awaitRedirect',
        src: 'awaitRedirect',
        input: ({ context }) => context,
        onDone: [
          { guard: { type: 'isDone', params: ({ event }) => event.output }, target: 'exchanging' },
          { target: 'stopped', actions: { type: 'rememberWhy', params: ({ event }) => whyOf(event.output) } },
        ],
        onError: { target: 'stopped', actions: { type: 'rememberWhy', params: crashed('waiting for the redirect') } },
      },
      after: { redirectTimeout: { target: 'stopped', actions: 'rememberTimeout' } },
    },
    exchanging: {
      description: 'Exchanges the code for tokens.',
      meta: { rule: 'OAU-1' },
      tags: ['working'],
      invoke: {
        id: 'exchangeCode',
        src: 'exchangeCode',
        input: ({ context }) => context,
        onDone: [
          { guard: { type: 'isDone', params: ({ event }) => event.output }, target: 'storing' },
          {
            guard: { type: 'refusesDocument', params: ({ event }) => event.output },
            target: 'identifying',
            actions: ['rememberRefusal', 'recordRefusal'],
          },
          {
            guard: { type: 'refusesStored', params: ({ event }) => event.output },
            target: 'identifying',
            actions: 'rememberLoss',
          },
          { target: 'stopped', actions: { type: 'rememberWhy', params: ({ event }) => whyOf(event.output) } },
        ],
        onError: { target: 'stopped', actions: { type: 'rememberWhy', params: crashed('exchanging the code') } },
      },
    },
    storing: {
      description: 'Writes the credentials completely or not at all: the only step that replaces old ones.',
      meta: { rule: 'OAU-8' },
      tags: ['working'],
      invoke: {
        id: 'storeCredentials',
        src: 'storeCredentials',
        input: ({ context }) => context,
        onDone: [
          { guard: { type: 'isDone', params: ({ event }) => event.output }, target: 'loggedIn' },
          { target: 'stopped', actions: { type: 'rememberWhy', params: ({ event }) => whyOf(event.output) } },
        ],
        onError: { target: 'stopped', actions: { type: 'rememberWhy', params: crashed('storing the credentials') } },
      },
      // Too late: the write in progress cannot be undone, so the login must not be reported as cancelled.
      on: { 'login.cancel': {} },
    },
    loggedIn: {
      description: 'The credentials are stored; the connection is made anew with them.',
      meta: { rule: 'OAU-8' },
      tags: ['ended'],
      type: 'final',
      entry: 'letGo',
    },
    stopped: {
      description: 'The login ended without new credentials; the old ones are untouched.',
      meta: { rule: 'OAU-8' },
      tags: ['ended'],
      type: 'final',
      entry: 'letGo',
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

function identityOf(verdict: IdentifyVerdict): Pick<BrowserLoginContext, 'identity' | 'document'> {
  return verdict.kind === 'done'
    ? { identity: verdict.identity, document: verdict.document }
    : { identity: null, document: null };
}

export function cancelled({ why = 'the login was cancelled' }: LoginEvent): { why: string } {
  return { why };
}

export function whyOf(verdict: StepFailure | object): StepFailure {
  return 'why' in verdict ? verdict : { why: '' };
}

function crashed(step: string): { why: string } {
  return { why: `${step} crashed in the gateway; see the log` };
}
