/**
 * One login to one server by device code: a person approves it on another device. Started only from a terminal; never falls
 * back to another flow. The wiring keeps codes and tokens.
 * @see DEV-1, DEV-3, DEV-4 and DEV-5 in docs/specification.md
 * @see [RFC 8628](https://www.rfc-editor.org/rfc/rfc8628.html)
 */

import { assign, cancel, raise, setup } from 'xstate';
import { effect, itsOutput, promisePlaceholder } from '../base/declare.ts';
import type { PollVerdict } from './device-grant.ts';
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

export interface DeviceLoginContext extends LoginInput, LoginEnd {
  readonly flow: 'device';
  readonly intervalMs: number;
  /** A longer wait before the next poll alone. */
  readonly onceMs: number;
  /** The time for approval: the code's lifetime or the configured time, whichever is shorter. */
  readonly patienceMs: number;
}

export type CodeVerdict =
  | { readonly kind: 'done'; readonly intervalMs: number; readonly patienceMs: number }
  | ({ readonly kind: 'failed' } & StepFailure);
export type TokenVerdict = PollVerdict | { readonly kind: 'approved' };

export const deviceLoginMachine = setup({
  types: {
    input: {} as LoginInput,
    context: {} as DeviceLoginContext,
    events: {} as LoginEvent | { readonly type: 'patience.over' },
    output: {} as DeviceLoginContext,
  },
  actors: {
    discover: promisePlaceholder<StepVerdict, DeviceLoginContext>('discover'),
    identifyClient: promisePlaceholder<StepVerdict, DeviceLoginContext>('identifyClient'),
    requestCode: promisePlaceholder<CodeVerdict, DeviceLoginContext>('requestCode'),
    pollToken: promisePlaceholder<TokenVerdict, DeviceLoginContext>('pollToken'),
    storeCredentials: promisePlaceholder<StepVerdict, DeviceLoginContext>('storeCredentials'),
  },
  actions: {
    /** Reports the URL and the code to the caller. */
    announceCode: effect('announceCode'),
    rememberCode: assign((_, params: { intervalMs: number; patienceMs: number }) => params),
    rememberInterval: assign((_, params: { intervalMs: number; onceMs: number }) => params),
    rememberWhy: assign((_, { why, errorCode }: StepFailure) => ({ why, errorCode: errorCode ?? null })),
    rememberOver: assign(({ context }) => ({
      why: `mcp server "${context.server}": the login was not approved within ${Math.round(context.patienceMs / 1_000)} s; begin again`,
    })),
    armPatience: raise({ type: 'patience.over' }, { id: 'patience', delay: 'patience' }),
    disarmPatience: cancel('patience'),
  },
  guards: {
    isDone: (_, verdict: StepVerdict | CodeVerdict) => verdict.kind === 'done',
    isApproved: (_, verdict: TokenVerdict) => verdict.kind === 'approved',
    isPending: (_, verdict: TokenVerdict) => verdict.kind === 'wait',
  },
  delays: {
    pollInterval: ({ context }) => Math.max(context.intervalMs, context.onceMs),
    patience: ({ context }) => context.patienceMs,
  },
}).createMachine({
  id: 'deviceLogin',
  context: ({ input }) => ({
    ...input,
    flow: 'device',
    intervalMs: 0,
    onceMs: 0,
    patienceMs: 0,
    why: null,
    errorCode: null,
  }),
  initial: 'discovering',
  output: ({ context }) => context,
  on: {
    'login.cancel': cancelling,
    'patience.over': { target: '.stopped', actions: 'rememberOver' },
  },
  states: {
    discovering: {
      description: 'Scans the advertised authorization servers for the first that offers the device grant.',
      meta: { rule: 'DEV-2' },
      tags: ['working'],
      invoke: loginStep('discover', 'looking for metadata', { guard: isDone, target: 'identifying' }),
    },
    identifying: {
      description: 'Chooses the client: the configured one, or one registered for the device and refresh grants.',
      meta: { rule: 'DEV-3' },
      tags: ['working'],
      invoke: loginStep('identifyClient', 'registering', { guard: isDone, target: 'requestingCode' }),
    },
    requestingCode: {
      description: 'Asks for a device code.',
      meta: { rule: 'DEV-1' },
      tags: ['working'],
      invoke: loginStep('requestCode', 'asking for a code', {
        guard: isDone,
        target: 'waiting',
        actions: [{ type: 'rememberCode', params: issued }, 'announceCode', 'armPatience'],
      }),
    },
    waiting: {
      description: 'A person has the code; the token endpoint is asked again after the interval.',
      meta: { rule: 'DEV-4' },
      tags: ['needsUser'],
      after: { pollInterval: { target: 'polling' } },
    },
    polling: {
      description: 'Asks the token endpoint whether the login is approved.',
      meta: { rule: 'DEV-4' },
      tags: ['needsUser'],
      invoke: loginStep(
        'pollToken',
        'polling',
        { guard: { type: 'isApproved', params: itsOutput }, target: 'storing' },
        {
          guard: { type: 'isPending', params: itsOutput },
          target: 'waiting',
          actions: { type: 'rememberInterval', params: nextInterval },
        },
      ),
    },
    storing: {
      description: 'Writes the credentials completely or not at all: the only step that replaces old ones.',
      meta: { rule: 'DEV-4' },
      tags: ['working'],
      entry: 'disarmPatience',
      invoke: loginStep('storeCredentials', 'storing the credentials', { guard: isDone, target: 'loggedIn' }),
      // Too late: the write in progress cannot be undone, so the login must not be reported as cancelled.
      on: { 'login.cancel': {}, 'patience.over': {} },
    },
    loggedIn: {
      description: 'The credentials are stored; the connection is made anew with them.',
      meta: { rule: 'DEV-4' },
      tags: ['ended'],
      type: 'final',
    },
    stopped: {
      description: 'Denied, expired, cancelled or not possible; saved credentials are untouched.',
      meta: { rule: 'DEV-4' },
      tags: ['ended'],
      type: 'final',
    },
  },
});

function issued({ event: { output } }: { event: { output: CodeVerdict } }): { intervalMs: number; patienceMs: number } {
  return output.kind === 'done'
    ? { intervalMs: output.intervalMs, patienceMs: output.patienceMs }
    : { intervalMs: 0, patienceMs: 0 };
}

function nextInterval({ event: { output } }: { event: { output: TokenVerdict } }): {
  intervalMs: number;
  onceMs: number;
} {
  return output.kind === 'wait'
    ? { intervalMs: output.intervalMs, onceMs: output.onceMs ?? 0 }
    : { intervalMs: 0, onceMs: 0 };
}
