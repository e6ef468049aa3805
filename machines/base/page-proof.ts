/**
 * The words that the inspector's page and the daemon sign with a session's key, and where they put them. Both sides import
 * this file, so that they sign the same text. Knows no key and computes no HMAC.
 * @see SEC-1 in docs/specification.md
 */

/** The header with the page's proof. No browser adds it by itself. */
export const proofHeader = 'x-agent-inspector-proof';

/** The header with which the page asks the daemon for the daemon's own proof. */
export const challengeHeader = 'x-agent-inspector-challenge';

/**
 * The header with which the page names its session to the daemon. The cookie holds the same id, but a browser may send
 * several cookies of that name.
 */
export const sessionHeader = 'x-agent-inspector-session';

/** The name of the meta element that brings a session, as `<id>.<key>`, in the document that a link opens. */
export const sessionElement = 'agent-inspector-session';

/** What the daemon answers to a challenge. */
export interface Introduction {
  /** Random, and new with every process. */
  readonly nonce: string;
  /** The daemon's HMAC over the nonce and the challenge, base64url. */
  readonly proof: string;
  /** For whom the session is. */
  readonly who: string;
  /** What the session may do: everything unless given. */
  readonly role?: 'reader';
  /** The guest signed in with a password, and does so again where a fresh session is needed. */
  readonly isByPassword?: true;
}

export interface ProofWords {
  /** The session's id. */
  readonly id: string;
  /** `http://127.0.0.1:8645`: a proof for one address is worth nothing at another. */
  readonly origin: string;
  readonly nonce: string;
}

/** Returns the text of the page's proof: it is the same for every request to one process. */
export function pageProofText({ id, origin, nonce }: ProofWords): string {
  return JSON.stringify(['page', id, origin, nonce]);
}

/** Returns the text of the daemon's proof. The challenge is the page's, so that no earlier answer fits. */
export function daemonProofText({ id, origin, nonce }: ProofWords, challenge: string): string {
  return JSON.stringify(['daemon', id, origin, nonce, challenge]);
}
