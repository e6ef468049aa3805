/**
 * What the charts of both logins share: how a login is begun and cancelled, and its steps. A step that fails, or crashes in the
 * gateway, stops the login with the reason.
 * @see OAU-8 and DEV-4 in docs/specification.md
 */

import { itsOutput } from '../base/declare.ts';
import { causeOf } from '../base/fault.ts';
import { withoutSecrets } from './without-secrets.ts';

export interface LoginInput {
  readonly id: string;
  readonly profile: string;
  readonly server: string;
  readonly startedFrom: 'terminal' | 'page';
}

export interface StepFailure {
  readonly why: string;
  /** The OAuth error code of the authorization server's answer (RFC 6749 §4.1.2.1 and §5.2). */
  readonly errorCode?: string;
}

export type StepVerdict = { readonly kind: 'done' } | ({ readonly kind: 'failed' } & StepFailure);

/** Why a login stopped; null for both while it has not, and for the code if there is none. */
export interface LoginEnd {
  readonly why: string | null;
  readonly errorCode: string | null;
}

/** Without a reason, a person cancelled it. */
export type LoginEvent = { readonly type: 'login.cancel'; readonly why?: string };

/** The transitions of a cancel before anything is written. */
export const cancelling = {
  target: '.stopped',
  actions: {
    type: 'rememberWhy',
    params: ({ event: { why = 'the login was cancelled' } }: { event: LoginEvent }): StepFailure => ({ why }),
  },
} as const;

/** The paths of a part that is gone are long, and the fix comes after them. */
const maxCause = 1_000;

/** The guard of a step that has not failed. */
export const isDone = { type: 'isDone', params: itsOutput } as const;

const failed = {
  target: 'stopped',
  actions: {
    type: 'rememberWhy',
    params: ({ event: { output } }: { event: { output: StepFailure | object } }): StepFailure =>
      'why' in output ? output : { why: '' },
  },
} as const;

/**
 * Returns the invocation of an effect with the context as its input.
 * @param doing what it does, for the reason of a crash
 * @param onward where it leads if it does not fail
 */
export function loginStep<const Name extends string, const Onward extends readonly object[]>(
  name: Name,
  doing: string,
  ...onward: Onward
) {
  const crashed = ({ event: { error } }: { readonly event: { readonly error: unknown } }): StepFailure => ({
    why: `${doing} crashed in the gateway: ${withoutSecrets(causeOf(error), [], maxCause)}`,
  });
  return {
    id: name,
    src: name,
    input: <Context>({ context }: { context: Context }): Context => context,
    onDone: [...onward, failed] as const,
    onError: { target: 'stopped', actions: { type: 'rememberWhy', params: crashed } },
  } as const;
}
