/**
 * The page's session. Its key comes once, in the document that a link opens or with the answer to a sign-in, and is stored
 * so that scripts can sign with it but not read it. The daemon must first prove that it has the key: another process at the
 * inspector's port gets only a cookie and a challenge, which open nothing.
 * @see SEC-1 in docs/specification.md
 * @see [Web Cryptography API §14.3](https://www.w3.org/TR/WebCryptoAPI/#subtlecrypto-interface-methods)
 */

import {
  challengeHeader,
  daemonProofText,
  type Introduction,
  pageProofText,
  proofHeader,
  sessionElement,
  sessionHeader,
} from '../../../../machines/base/page-proof.ts';
import { createCell } from './cell.ts';
import { readStored, store } from './stored.ts';

/** The daemon could not be verified, so the request was not sent. */
export class NotSent extends Error {}

interface Session {
  readonly id: string;
  /** Not extractable. */
  readonly key: CryptoKey;
}

const databaseName = 'agent-inspector';
const storeName = 'session';
const placeName = 'agent.place';
const hmac = { name: 'HMAC', hash: 'SHA-256' };
const challengeBytes = 32;
/** Of every request: from the daemon itself, at its own address. */
const plainly = { cache: 'no-store', credentials: 'same-origin', redirect: 'error' } as const;
/** Loopback answers immediately; a process that has the port but does not answer must not block the page. */
const helloTimeoutMs = 10_000;

/** The session if the browser stores nothing; it lasts as long as the page. */
let held: Session | undefined;
/** The session's guest, once the daemon has named it. */
export const guest = createCell<Pick<Introduction, 'who' | 'role' | 'isByPassword'> | undefined>(undefined);
/** Pending while a link's session is being stored. */
let taking: Promise<void> = Promise.resolve();
/** The proof for the process that was verified. */
let proof: Promise<string | undefined> | undefined;

/** Takes the session from the document, and removes the used link from the address. */
export function takeSession(): void {
  const brought = document.querySelector<HTMLMetaElement>(`meta[name="${sessionElement}"]`);
  if (brought === null) return;
  const [id = '', key = ''] = brought.content.split('.');
  brought.remove();
  history.replaceState(null, '', `./${location.hash === '' ? leftPlace() : location.hash}`);
  taking = keep(id, key);
}

/** Stores the place at the end of a session, where the next link continues. */
export function keepPlace(): void {
  store(placeName, location.hash);
}

function leftPlace(): string {
  const left = readStored(placeName) ?? '';
  store(placeName, '');
  return left;
}

/**
 * Fetches with the page's proof. Resolves with 401 if there is no session or the process is not its daemon. Rejects if no
 * process answers, with NotSent if the request itself was not sent.
 */
export async function fetchProven(path: string, init: RequestInit = {}): Promise<Response> {
  const first = await send(path, init);
  if (first.status !== 401) return first;
  // The daemon has restarted, or another tab has opened a link: both need a new proof.
  forgetProof();
  return send(path, init);
}

/** Discards the proof, since the verified process may have ended; the next request verifies the daemon again. */
export function forgetProof(): void {
  proof = undefined;
}

async function send(path: string, init: RequestInit): Promise<Response> {
  const mine = proof ?? introduce();
  proof = mine;
  let known: string | undefined;
  try {
    known = await mine;
  } catch (error) {
    throw new NotSent('the daemon could not be verified', { cause: error });
  } finally {
    if (known === undefined && proof === mine) forgetProof();
  }
  if (known === undefined) return new Response(null, { status: 401 });
  return fetch(path, {
    ...init,
    ...plainly,
    headers: { ...init.headers, [proofHeader]: known },
  });
}

/** Resolves with whether a person can sign in with a name and a password; only over HTTPS, which identifies the server. */
export async function hasPasswords(): Promise<boolean> {
  return location.protocol === 'https:' && (await fetch('./sign-in', { cache: 'no-store' })).status === 204;
}

/** Signs in. Resolves with the reason of a refusal, or undefined. */
export async function signIn(name: string, password: string): Promise<string | undefined> {
  const response = await fetch('./sign-in', {
    method: 'POST',
    ...plainly,
    body: JSON.stringify({ name, password }),
  });
  if (!response.ok) return (await response.text()).trim();
  const { id, key } = (await response.json()) as { readonly id: string; readonly key: string };
  await keep(id, key);
  forgetProof();
  return undefined;
}

/** Ends the session at the daemon, deletes its key and reloads the page. Rejects if the session has not ended. */
export async function signOut(): Promise<void> {
  const response = await fetchProven('./sign-out', { method: 'POST' });
  // 401: it had ended before.
  if (!response.ok && response.status !== 401) throw new Error(`the daemon answered ${response.status}`);
  // A key that cannot be deleted opens nothing any more.
  await inStore('readwrite', (store) => store.delete(storeName)).catch(() => undefined);
  // Without the hash, so that what was shown is not in the address either.
  location.replace('./');
}

/**
 * Resolves with the page's proof if that of the daemon is right; undefined if it is not, or there is no session. Rejects if
 * the daemon cannot be reached.
 */
async function introduce(): Promise<string | undefined> {
  const session = await current();
  if (session === undefined) return undefined;
  const challenge = encode(crypto.getRandomValues(new Uint8Array(challengeBytes)));
  const response = await fetch('./hello', {
    ...plainly,
    headers: { [challengeHeader]: challenge, [sessionHeader]: session.id },
    signal: AbortSignal.timeout(helloTimeoutMs),
  });
  // A proxy answers so for a daemon that is not there.
  if (response.status >= 502) throw new Error(`the proxy answered ${response.status}`);
  if (!response.ok) return undefined;
  const { nonce, proof: given, ...whose } = (await response.json()) as Introduction;
  const words = { id: session.id, origin: location.origin, nonce };
  const theirs = bytesOf(daemonProofText(words, challenge));
  const isDaemon = await crypto.subtle.verify(hmac, session.key, decode(given), theirs);
  if (!isDaemon) return undefined;
  guest.set(whose);
  return encode(new Uint8Array(await crypto.subtle.sign(hmac, session.key, bytesOf(pageProofText(words)))));
}

/** Reads the session each time, since another tab may have opened a link. */
async function current(): Promise<Session | undefined> {
  await taking;
  if (held !== undefined) return held;
  try {
    return await inStore<Session | undefined>('readonly', (store) => store.get(storeName));
  } catch {
    return undefined;
  }
}

async function keep(id: string, text: string): Promise<void> {
  const key = await crypto.subtle.importKey('raw', decode(text), hmac, false, ['sign', 'verify']);
  held = { id, key };
  try {
    await inStore('readwrite', (store) => store.put({ id, key } satisfies Session, storeName));
    held = undefined;
  } catch {
    // The browser does not allow storage: a reload needs a new link.
  }
}

function inStore<Result>(mode: IDBTransactionMode, act: (store: IDBObjectStore) => IDBRequest): Promise<Result> {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open(databaseName, 1);
    opening.onupgradeneeded = () => void opening.result.createObjectStore(storeName);
    opening.onerror = () => reject(opening.error);
    opening.onsuccess = () => {
      const database = opening.result;
      const transaction = database.transaction(storeName, mode);
      const request = act(transaction.objectStore(storeName));
      transaction.oncomplete = () => {
        database.close();
        resolve(request.result as Result);
      };
      transaction.onabort = () => {
        database.close();
        reject(transaction.error);
      };
    };
  });
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

/** @see [RFC 4648 §5](https://www.rfc-editor.org/rfc/rfc4648.html#section-5) */
function encode(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
}

function decode(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (letter) => letter.charCodeAt(0));
}
