/**
 * Parses the answers of a device grant: the code for a person, and each poll's verdict with the next wait. Does not poll.
 * @see DEV-4 in docs/specification.md
 * @see [RFC 8628 §3.5](https://www.rfc-editor.org/rfc/rfc8628.html#section-3.5)
 */

export interface DeviceCode {
  readonly userCode: string;
  readonly verificationUri: string;
  /** The URI including the code, if the server offers one. */
  readonly verificationUriComplete?: string;
  readonly expiresInMs: number;
  readonly intervalMs: number;
}

export type PollVerdict =
  | {
      readonly kind: 'wait';
      readonly intervalMs: number;
      /** The least wait before the next poll alone. */
      readonly onceMs?: number;
    }
  | { readonly kind: 'stop'; readonly why: string; readonly errorCode?: string };

/** 5 s, and 5 s more at each `slow_down`: RFC 8628 §3.2 and §3.5. */
export const defaultIntervalMs = 5_000;
const slowDownMs = 5_000;

/** Interprets an error of the token endpoint during polling. */
export function readPollError(error: string, intervalMs: number): PollVerdict {
  switch (error) {
    case 'authorization_pending':
      return { kind: 'wait', intervalMs };
    case 'slow_down':
      return { kind: 'wait', intervalMs: intervalMs + slowDownMs };
    case 'access_denied':
      return { kind: 'stop', why: 'the login was denied on the other device' };
    case 'expired_token':
      return { kind: 'stop', why: 'the code expired before it was entered; begin again' };
    default:
      return {
        kind: 'stop',
        why: `the token endpoint refused the device login: ${error.slice(0, 100)}`,
        errorCode: error.slice(0, 100),
      };
  }
}
