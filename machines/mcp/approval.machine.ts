/**
 * One question to a person: may this call run, or may this server get these values. Ends with the answer or the timeout;
 * nothing is sent before. Any client that lists approvals can answer.
 * @see TRU-1, TRU-3 and SRV-1 in docs/specification.md
 */

import { assign, setup } from 'xstate';
import { effect, itself } from '../base/declare.ts';
import type { Json, JsonObject } from '../base/json.ts';
import type { Remember } from './approval-rules.ts';

export interface ApprovalInput {
  readonly id: string;
  readonly profile: string;
  readonly server: string;
  /** The key of the run that waits for the answer, if any. */
  readonly run?: string;
  readonly kind: 'tool' | 'form';
  /** The tool's registered name; empty for a form. */
  readonly tool: string;
  /** The question for a person: the server's message, or the tool's description. */
  readonly message: string;
  /** The call's arguments with secrets redacted, or the form's schema. */
  readonly detail: Json;
  readonly timeoutMs: number;
  readonly askedAtMs: number;
}

export interface ApprovalContext extends ApprovalInput {
  /** The values that a person entered. */
  readonly values: JsonObject | null;
  /** Who answered, such as `cli`; null before an answer. */
  readonly by: string | null;
  readonly granted: boolean;
  /** What the yes covers beyond this call. */
  readonly remember: Remember;
  /** The reason that a person gave for a denial. */
  readonly note: string | null;
}

type ApprovalEvent =
  | {
      readonly type: 'approval.grant';
      readonly by: string;
      readonly values: JsonObject | null;
      readonly remember?: Remember;
    }
  | { readonly type: 'approval.deny'; readonly by: string; readonly note?: string }
  /** The caller no longer waits. */
  | { readonly type: 'approval.withdraw' };

export const approvalMachine = setup({
  types: { input: {} as ApprovalInput, context: {} as ApprovalContext, events: {} as ApprovalEvent },
  actions: {
    /** Sends the answer to the caller. */
    reportAnswer: effect('reportAnswer'),
    announce: effect('announce'),
    rememberGrant: assign((_, params: { by: string; values: JsonObject | null; remember?: Remember }) => ({
      by: params.by,
      values: params.values,
      remember: params.remember ?? 'call',
      granted: true,
    })),
    rememberDenial: assign((_, params: { by: string; note?: string }) => ({
      by: params.by,
      note: params.note ?? null,
    })),
  },
  delays: { patience: ({ context }) => context.timeoutMs },
}).createMachine({
  id: 'approval',
  context: ({ input }) => ({ ...input, values: null, by: null, granted: false, remember: 'call', note: null }),
  initial: 'asked',
  states: {
    asked: {
      description: 'Waits for a person.',
      meta: { rule: 'TRU-3' },
      tags: ['needsUser'],
      entry: 'announce',
      on: {
        'approval.grant': { target: 'approved', actions: { type: 'rememberGrant', params: itself } },
        'approval.deny': { target: 'denied', actions: { type: 'rememberDenial', params: itself } },
        'approval.withdraw': 'withdrawn',
      },
      after: { patience: { target: 'timedOut' } },
    },
    approved: {
      description: 'A person said yes.',
      meta: { rule: 'TRU-1' },
      tags: ['ended'],
      type: 'final',
      entry: 'reportAnswer',
    },
    denied: {
      description: 'A person said no; nothing was sent.',
      meta: { rule: 'TRU-1' },
      tags: ['ended', 'failed'],
      type: 'final',
      entry: 'reportAnswer',
    },
    timedOut: {
      description: 'There was no answer in time; nothing was sent.',
      meta: { rule: 'TRU-1' },
      tags: ['ended', 'failed'],
      type: 'final',
      entry: 'reportAnswer',
    },
    withdrawn: {
      description: 'The question is withdrawn: the call was cancelled or the server is gone.',
      meta: { rule: 'TRU-3' },
      tags: ['ended'],
      type: 'final',
    },
  },
});
