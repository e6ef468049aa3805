/**
 * What came of sending a text to a platform, in the words that decide what happens next: done, refused for good, to be
 * tried later, or not known. Knows no platform and no wire; what follows is `next-try.ts`'s.
 * @see DLV-4 and DUR-1 in docs/specification.md
 */

export type RefusalClass = 'auth' | 'notFound' | 'forbidden' | 'tooLong' | 'permanent';

/** A refusal in this program's words. */
export const refusalWords: Readonly<Record<RefusalClass, string>> = {
  auth: 'the platform does not accept the credentials',
  notFound: 'the platform does not know the place to deliver to',
  forbidden: 'the platform does not let this account write there',
  tooLong: 'the platform finds the text too long',
  permanent: 'the platform refuses the message',
};

/** How far a text of several pieces came before one of them failed. */
export interface PartlySent {
  readonly pieces: number;
  readonly of: number;
  /** The first piece's. */
  readonly messageId?: string;
}

interface Failure {
  readonly reason: string;
  readonly partly?: PartlySent;
}

/** The last of several requests for the same piece: whether an earlier one has arrived nobody knows. */
interface MayDoubt {
  readonly unsure?: true;
}

export type Undelivered =
  /** The platform said no, and would again. */
  | ({ readonly kind: 'refused'; readonly class: RefusalClass } & Failure & MayDoubt)
  /** `ofChat` where the limit is that chat's alone. */
  | ({ readonly kind: 'rateLimited'; readonly retryAfterMs: number; readonly ofChat?: true } & Failure & MayDoubt)
  /** It did not arrive, and may another time. */
  | ({ readonly kind: 'transient' } & Failure & MayDoubt)
  /** The request went out, and no answer gave its outcome. */
  | ({ readonly kind: 'unknown' } & Failure);

export type SendOutcome =
  /** With a reason where the platform was not asked. */
  { readonly kind: 'delivered'; readonly messageId?: string; readonly reason?: string } | Undelivered;

/** Of an empty text for a platform that takes none (DIS-4). */
export const nothingToSend = { kind: 'delivered', reason: 'nothing to send' } as const satisfies SendOutcome;

/** Says of a rate limit that it is one chat's. */
export function limitedInChat(outcome: Undelivered): Undelivered {
  return outcome.kind === 'rateLimited' ? { ...outcome, ofChat: true } : outcome;
}

/** What came of asking a platform whether it takes the credentials. */
export type VerifyOutcome =
  /** The platform knows the credentials; `as` is the account that it names. */
  | { readonly kind: 'verified'; readonly as?: string }
  /** The platform has no harmless call that would prove the credentials. */
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

/** Whether the text, or a piece of it, may lie at the platform all the same. */
export function isUnsure(outcome: SendOutcome): boolean {
  return outcome.kind === 'unknown' || (outcome.kind !== 'delivered' && outcome.unsure === true);
}

/** Says of a failure that an earlier request for the same piece may have arrived. */
export function stillUnsure(outcome: Undelivered): Undelivered {
  if (outcome.kind === 'unknown' || outcome.unsure === true) return outcome;
  return {
    ...outcome,
    reason: `${outcome.reason}; an earlier request got no answer and may have arrived`,
    unsure: true,
  };
}

/** Says of a failure how many pieces were delivered before it. */
export function partly(outcome: Undelivered, sent: PartlySent): Undelivered {
  const first = sent.messageId === undefined ? '' : `, the first as ${sent.messageId}`;
  const reason = `${outcome.reason} (piece ${sent.pieces + 1} of ${sent.of}; those before were delivered${first})`;
  return { ...outcome, reason, partly: sent };
}
