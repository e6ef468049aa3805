/**
 * What came of sending a text to a platform, in the words that decide what happens next: done, refused for good, to be
 * tried later, or not known. Knows no platform and no wire.
 * @see DLV-4 and DUR-1 in docs/specification.md
 */

export type RefusalClass = 'auth' | 'notFound' | 'forbidden' | 'tooLong' | 'permanent';

/** How far a text of several pieces came before one of them failed. */
export interface PartlySent {
  readonly pieces: number;
  readonly of: number;
  /** The first piece's. */
  readonly messageId?: string;
}

export type Undelivered =
  /** The platform said no, and would again. */
  | {
      readonly kind: 'refused';
      readonly class: RefusalClass;
      readonly reason: string;
      readonly partly?: PartlySent;
    }
  | {
      readonly kind: 'rateLimited';
      readonly retryAfterMs: number;
      readonly reason: string;
      readonly partly?: PartlySent;
    }
  /** It did not arrive, and may another time. */
  | { readonly kind: 'transient'; readonly reason: string; readonly partly?: PartlySent }
  /** The request went out and no answer came that says what became of it. */
  | { readonly kind: 'unknown'; readonly reason: string; readonly partly?: PartlySent };

export type SendOutcome = { readonly kind: 'delivered'; readonly messageId?: string } | Undelivered;

/** The three words that a delivery's record knows. */
export type SettledOutcome =
  | { readonly kind: 'delivered'; readonly messageId?: string }
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'unknown'; readonly reason: string };

/** Says the outcome in the record's words: `failed` only where nothing at all was delivered. */
export function outcomeOf(outcome: SendOutcome): SettledOutcome {
  switch (outcome.kind) {
    case 'delivered':
    case 'unknown':
      return outcome.kind === 'delivered' ? outcome : { kind: 'unknown', reason: outcome.reason };
    case 'refused':
    case 'transient':
      return { kind: outcome.partly === undefined ? 'failed' : 'unknown', reason: outcome.reason };
    case 'rateLimited': {
      const seconds = Math.ceil(outcome.retryAfterMs / 1_000);
      const reason = `${outcome.reason}; it may be tried again in ${seconds} s`;
      return { kind: outcome.partly === undefined ? 'failed' : 'unknown', reason };
    }
  }
}

/** True where a later attempt may succeed and can do no harm: nothing of the text was delivered. */
export function mayTryAgain(outcome: SendOutcome): boolean {
  return (outcome.kind === 'rateLimited' || outcome.kind === 'transient') && outcome.partly === undefined;
}

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

/** Says of a failure how many pieces were delivered before it. */
export function partly(outcome: Undelivered, sent: PartlySent): Undelivered {
  const first = sent.messageId === undefined ? '' : `, the first as ${sent.messageId}`;
  const reason = `${outcome.reason} (piece ${sent.pieces + 1} of ${sent.of}; those before were delivered${first})`;
  return { ...outcome, reason, partly: sent };
}
