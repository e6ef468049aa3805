/**
 * The texts that the inspector's page and the daemon sign with a session's key, and the headers that carry the proofs. Both
 * sides import this file, so that they sign the same text.
 * @see SEC-1 in docs/specification.md
 */

/** The header with the page's proof. No browser adds it on its own. */
export const proofHeader = 'x-agent-inspector-proof';

/** The header in which the page requests the daemon's proof. */
export const challengeHeader = 'x-agent-inspector-challenge';

/**
 * The header with the page's session id. The cookie holds the same id, but a browser may send several cookies of that name.
 */
export const sessionHeader = 'x-agent-inspector-session';

/** The name of the meta element that carries a session, as `<id>.<key>`, in the document that a link opens. */
export const sessionElement = 'agent-inspector-session';

/** The daemon's answer to a challenge. */
export interface Introduction {
  /** Random, and new for every process. */
  readonly nonce: string;
  /** The daemon's HMAC over the nonce and the challenge, base64url. */
  readonly proof: string;
  readonly who: string;
  /** What the session may do; absent: everything. */
  readonly role?: 'reader';
  /** The guest signed in with a password, and has to do so again if a fresh session is needed. */
  readonly isByPassword?: true;
}

interface ProofWords {
  readonly id: string;
  /** Such as `http://127.0.0.1:8645`: a proof for one address is not valid at another. */
  readonly origin: string;
  readonly nonce: string;
}

/** Returns the text that the page signs: the same for every request to one process. */
export function pageProofText({ id, origin, nonce }: ProofWords): string {
  return JSON.stringify(['page', id, origin, nonce]);
}

/** Returns the text that the daemon signs. It includes the page's challenge, so that no earlier answer can be replayed. */
export function daemonProofText({ id, origin, nonce }: ProofWords, challenge: string): string {
  return JSON.stringify(['daemon', id, origin, nonce, challenge]);
}
