/**
 * The page's session: its key comes once, in the document that a link opens, and is kept where no script can read it, only
 * sign with it. Nothing is sent to a daemon before that has proven that it holds the key too: what listens on the
 * inspector's port while the daemon is down gets a cookie and a challenge, and neither opens anything.
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
/** Loopback answers at once; what holds the port and stays silent must not hold the page. */
const helloTimeoutMs = 10_000;

/** Where the browser keeps nothing, the session lasts as long as the page. */
let held: Session | undefined;
/** For whom the session is, once the daemon has said so. */
export const guest = createCell<Pick<Introduction, 'who' | 'role' | 'isByPassword'> | undefined>(undefined);
/** What a link has brought, until it is kept. */
let taking: Promise<void> = Promise.resolve();
/** The proof for the process that has introduced itself. */
let proof: Promise<string | undefined> | undefined;

/** Takes the session out of the document, and the used link out of the address. */
export function takeSession(): void {
  const brought = document.querySelector<HTMLMetaElement>(`meta[name="${sessionElement}"]`);
  if (brought === null) return;
  const [id = '', key = ''] = brought.content.split('.');
  brought.remove();
  history.replaceState(null, '', `./${location.hash === '' ? leftPlace() : location.hash}`);
  taking = keep(id, key);
}

/** Where a person was when the session ended: the next link continues there. */
export function keepPlace(): void {
  try {
    localStorage.setItem(placeName, location.hash);
  } catch {
    // The person has forbidden it: the next link begins at the first place.
  }
}

function leftPlace(): string {
  try {
    const left = localStorage.getItem(placeName) ?? '';
    localStorage.removeItem(placeName);
    return left;
  } catch {
    return '';
  }
}

/**
 * Fetches with the page's proof. Answers 401 where there is no session, or none of what listens there. Rejects where
 * nothing listens.
 */
export async function fetchProven(path: string, init: RequestInit = {}): Promise<Response> {
  const first = await send(path, init);
  if (first.status !== 401) return first;
  // The daemon was started anew, or another tab has opened a link: either needs another proof.
  forgetProof();
  return send(path, init);
}

/** The next request begins with an introduction: the process that was spoken to may be gone. */
export function forgetProof(): void {
  proof = undefined;
}

async function send(path: string, init: RequestInit): Promise<Response> {
  const mine = proof ?? introduce();
  proof = mine;
  let known: string | undefined;
  try {
    known = await mine;
  } finally {
    if (known === undefined && proof === mine) forgetProof();
  }
  if (known === undefined) return new Response(null, { status: 401 });
  return fetch(path, {
    ...init,
    cache: 'no-store',
    credentials: 'same-origin',
    redirect: 'error',
    headers: { ...init.headers, [proofHeader]: known },
  });
}

/** Whether somebody can sign in with a name and a password: only where HTTPS shows who listens. */
export async function hasPasswords(): Promise<boolean> {
  return location.protocol === 'https:' && (await fetch('./sign-in', { cache: 'no-store' })).status === 204;
}

/** Signs in. Resolves with why not; undefined once the session is there. */
export async function signIn(name: string, password: string): Promise<string | undefined> {
  const response = await fetch('./sign-in', {
    method: 'POST',
    cache: 'no-store',
    credentials: 'same-origin',
    redirect: 'error',
    body: JSON.stringify({ name, password }),
  });
  if (!response.ok) return (await response.text()).trim();
  const { id, key } = (await response.json()) as { readonly id: string; readonly key: string };
  await keep(id, key);
  forgetProof();
  return undefined;
}

/** Ends the session at the daemon, forgets its key and draws the page anew. Rejects where the session has not ended. */
export async function signOut(): Promise<void> {
  const response = await fetchProven('./sign-out', { method: 'POST' });
  // It may have ended before.
  if (!response.ok && response.status !== 401) throw new Error(`the daemon answered ${response.status}`);
  // What cannot be removed opens nothing any more.
  await inStore('readwrite', (store) => store.delete(storeName)).catch(() => undefined);
  // Without the place: what was shown stays neither in the page nor in its address.
  location.replace('./');
}

/** Returns the page's proof once the daemon's own was right; undefined where it was not, or there is no session. */
async function introduce(): Promise<string | undefined> {
  const session = await current();
  if (session === undefined) return undefined;
  const challenge = encode(crypto.getRandomValues(new Uint8Array(challengeBytes)));
  const response = await fetch('./hello', {
    cache: 'no-store',
    credentials: 'same-origin',
    redirect: 'error',
    headers: { [challengeHeader]: challenge, [sessionHeader]: session.id },
    signal: AbortSignal.timeout(helloTimeoutMs),
  });
  if (!response.ok) return undefined;
  const { nonce, proof: given, ...whose } = (await response.json()) as Introduction;
  const words = { id: session.id, origin: location.origin, nonce };
  const theirs = bytesOf(daemonProofText(words, challenge));
  const isDaemon = await crypto.subtle.verify(hmac, session.key, decode(given), theirs);
  if (!isDaemon) return undefined;
  guest.set(whose);
  return encode(new Uint8Array(await crypto.subtle.sign(hmac, session.key, bytesOf(pageProofText(words)))));
}

/** Read anew each time: a link may have been opened in another tab since. */
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
    // The person has forbidden it; a reload asks for a fresh link.
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
