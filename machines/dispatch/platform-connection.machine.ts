/**
 * Whether a platform accepts one profile's credentials: checked at the start, again from time to time, and at once when a
 * delivery was refused. Deliveries check this state before they are sent.
 * @see DLV-1 and DLV-2 in docs/specification.md
 */

import { assign, setup } from 'xstate';
import { effect, promisePlaceholder } from '../base/declare.ts';
import type { VerifyOutcome } from './send-outcome.ts';
import { readVerification, type Verification } from './verification.ts';

export interface PlatformInput {
  readonly profile: string;
  /** The target's name, never an alias. */
  readonly target: string;
  /** The name in the configuration. */
  readonly name: string;
  readonly begin: 'disabled' | 'verifying' | 'failed';
  /** The finding of an unusable entry. */
  readonly why: string | null;
}

export interface PlatformContext extends PlatformInput {
  /** The account that the platform reports. */
  readonly as: string | null;
  /** Why unconfirmed credentials are trusted. */
  readonly note: string | null;
  /** True while nothing may be sent: the credentials are refused, or the entry is unusable. */
  readonly refused: boolean;
  /** Consecutive failed checks. */
  readonly failures: number;
  readonly againInMs: number;
}

export interface VerifyResult {
  readonly outcome: VerifyOutcome;
  readonly jitter: number;
}

type PlatformEvent =
  /** A check is requested now. */
  | { readonly type: 'platform.check' }
  | { readonly type: 'platform.delivered' }
  /** A delivery was refused for its credentials. */
  | { readonly type: 'platform.refused' }
  /** The entry was removed or changed. */
  | { readonly type: 'platform.stop' };

const crashed: Verification = {
  kind: 'failed',
  why: 'the check itself failed; the log has the details',
  refused: false,
  againInMs: 60_000,
};

const judged = ({
  context,
  event,
}: {
  readonly context: PlatformContext;
  readonly event: { readonly output: VerifyResult };
}) => verdictOf(context, event.output);

/** The first check, and each later one. */
const verification = {
  id: 'verify',
  src: 'verify',
  input: ({ context }: { readonly context: PlatformContext }) => context,
  onDone: [
    {
      guard: { type: 'isConnected', params: judged },
      target: 'connected',
      actions: { type: 'remember', params: judged },
    },
    { target: 'failed', actions: { type: 'remember', params: judged } },
  ],
  onError: { target: 'failed', actions: { type: 'remember', params: crashed } },
} as const;

export const platformConnectionMachine = setup({
  types: { input: {} as PlatformInput, context: {} as PlatformContext, events: {} as PlatformEvent },
  actors: { verify: promisePlaceholder<VerifyResult, PlatformContext>('verify') },
  actions: {
    /** Notifies callers that wait for the check. */
    reportChecked: effect('reportChecked'),
    reportFailed: effect('reportFailed'),
    remember: assign(({ context }, verdict: Verification) => remembered(context, verdict)),
    forgetFailures: assign({ failures: 0, why: null, refused: false }),
  },
  guards: {
    isDisabled: ({ context }) => context.begin === 'disabled',
    isUnusable: ({ context }) => context.begin === 'failed',
    isMendable: ({ context }) => context.begin !== 'failed',
    isConnected: (_, verdict: Verification) => verdict.kind === 'connected',
  },
  delays: { nextCheck: ({ context }) => context.againInMs },
}).createMachine({
  id: 'platformConnection',
  context: ({ input }) => ({
    ...input,
    as: null,
    note: null,
    refused: input.begin === 'failed',
    failures: 0,
    againInMs: 0,
  }),
  initial: 'choosing',
  states: {
    choosing: {
      description: 'Chooses where to begin.',
      meta: { rule: 'DLV-2' },
      tags: ['working'],
      always: [
        { guard: 'isDisabled', target: 'disabled' },
        { guard: 'isUnusable', target: 'failed' },
        { target: 'verifying' },
      ],
    },
    disabled: {
      description: 'Switched off: nothing is asked and nothing is sent.',
      meta: { rule: 'DLV-2' },
      tags: ['resting'],
      on: { 'platform.stop': 'stopped' },
    },
    verifying: {
      description: 'The platform is asked whether it takes the credentials.',
      meta: { rule: 'DLV-1' },
      tags: ['working'],
      invoke: verification,
      on: { 'platform.stop': 'stopped' },
    },
    connected: {
      description: 'The platform takes the credentials, or has no way to say so without a message.',
      meta: { rule: 'DLV-1' },
      tags: ['resting'],
      entry: 'reportChecked',
      after: { nextCheck: { target: 'reverifying' } },
      on: { 'platform.check': 'reverifying', 'platform.refused': 'verifying', 'platform.stop': 'stopped' },
    },
    reverifying: {
      description: 'The platform is asked once more; deliveries continue meanwhile.',
      meta: { rule: 'DLV-1' },
      tags: ['working', 'retrying'],
      invoke: verification,
      on: { 'platform.stop': 'stopped' },
    },
    failed: {
      description:
        'The platform refuses the credentials, is not reached, or its entry cannot be used; why has the remedy.',
      meta: { rule: 'DLV-2' },
      tags: ['resting', 'failed'],
      entry: ['reportChecked', 'reportFailed'],
      after: { nextCheck: { guard: 'isMendable', target: 'verifying' } },
      on: {
        'platform.check': { guard: 'isMendable', target: 'verifying' },
        'platform.delivered': { guard: 'isMendable', target: 'connected', actions: 'forgetFailures' },
        'platform.stop': 'stopped',
      },
    },
    stopped: {
      description: 'The entry is gone, or another one takes its place.',
      meta: { rule: 'DLV-2' },
      tags: ['ended'],
      type: 'final',
      entry: 'reportChecked',
    },
  },
});

function verdictOf({ name, failures }: PlatformContext, { outcome, jitter }: VerifyResult): Verification {
  return readVerification(outcome, { name, failures, jitter });
}

function remembered({ failures }: PlatformContext, verdict: Verification): Partial<PlatformContext> {
  const { againInMs } = verdict;
  return verdict.kind === 'connected'
    ? { as: verdict.as, note: verdict.note, why: null, refused: false, failures: 0, againInMs }
    : { why: verdict.why, refused: verdict.refused, failures: failures + 1, againInMs };
}
