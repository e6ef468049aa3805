/**
 * The outcome of sending a message to a platform, as far as it decides what follows: done, refused for good, retryable, or
 * unknown. `next-try.ts` decides what follows.
 * @see DLV-4 and DUR-1 in docs/specification.md
 */

export type RefusalClass = 'auth' | 'notFound' | 'forbidden' | 'tooLong' | 'permanent';

/** Our own words for a refusal. */
export const refusalWords: Readonly<Record<RefusalClass, string>> = {
  auth: 'the platform does not accept the credentials',
  notFound: 'the platform does not know the place to deliver to',
  forbidden: 'the platform does not let this account write there',
  tooLong: 'the platform finds the text too long',
  permanent: 'the platform refuses the message',
};

/** How many pieces of a message were delivered before one failed. */
export interface PartlySent {
  readonly pieces: number;
  readonly of: number;
  /** Of the first piece. */
  readonly messageId?: string;
}

interface Failure {
  readonly reason: string;
  readonly partly?: PartlySent;
}

/** The last of several requests for the same piece; an earlier one may have arrived. */
interface MayDoubt {
  readonly unsure?: true;
}

export type Undelivered =
  /** The platform refused, and would refuse again. */
  | ({ readonly kind: 'refused'; readonly class: RefusalClass } & Failure & MayDoubt)
  /** `ofChat` if the limit applies only to that chat. */
  | ({ readonly kind: 'rateLimited'; readonly retryAfterMs: number; readonly ofChat?: true } & Failure & MayDoubt)
  /** It did not arrive, and a retry may succeed, but not within `notBeforeMs` if the platform asks for that wait. */
  | ({ readonly kind: 'transient'; readonly notBeforeMs?: number } & Failure & MayDoubt)
  /** The request was sent, and no answer gave its outcome. */
  | ({ readonly kind: 'unknown' } & Failure);

export type SendOutcome =
  /** With a reason if no request was sent. */
  { readonly kind: 'delivered'; readonly messageId?: string; readonly reason?: string } | Undelivered;

/** For an empty message on a platform that accepts none (DIS-4). */
export const nothingToSend = { kind: 'delivered', reason: 'nothing to send' } as const satisfies SendOutcome;

export function limitedInChat(outcome: Undelivered): Undelivered {
  return outcome.kind === 'rateLimited' ? { ...outcome, ofChat: true } : outcome;
}

export type VerifyOutcome =
  /** The platform accepts the credentials; `as` is the account that it reports. */
  | { readonly kind: 'verified'; readonly as?: string }
  /** The platform has no harmless call that would check the credentials. */
  | { readonly kind: 'unverifiable'; readonly reason: string }
  | Exclude<Undelivered, { readonly kind: 'unknown' }>;

export function deliveredAs(messageId: unknown): SendOutcome {
  const id = typeof messageId === 'number' ? String(messageId) : messageId;
  return typeof id === 'string' && id !== '' ? { kind: 'delivered', messageId: id } : { kind: 'delivered' };
}

export function refused(refusal: RefusalClass, reason: string): Undelivered {
  return { kind: 'refused', class: refusal, reason };
}

export function transient(reason: string): Undelivered {
  return { kind: 'transient', reason };
}

export function unknownOutcome(reason: string): Undelivered {
  return { kind: 'unknown', reason };
}

/** Whether the message, or a piece of it, may have arrived despite the failure. */
export function isUnsure(outcome: SendOutcome): boolean {
  return outcome.kind === 'unknown' || (outcome.kind !== 'delivered' && outcome.unsure === true);
}

/** Marks a failure after which an earlier request for the same piece may have arrived. */
export function stillUnsure(outcome: Undelivered): Undelivered {
  if (outcome.kind === 'unknown' || outcome.unsure === true) return outcome;
  return {
    ...outcome,
    reason: `${outcome.reason}; an earlier request got no answer and may have arrived`,
    unsure: true,
  };
}

/** Adds to a failure how many pieces were delivered before it. */
export function partly(outcome: Undelivered, sent: PartlySent): Undelivered {
  const first = sent.messageId === undefined ? '' : `, the first as ${sent.messageId}`;
  const reason = `${outcome.reason} (piece ${sent.pieces + 1} of ${sent.of}; those before were delivered${first})`;
  return { ...outcome, reason, partly: sent };
}
