/**
 * Fetches a public address, bounded in time and size. The name of every hop is resolved once, each of its addresses is
 * checked, and the connection goes to a checked one, so a later DNS answer changes nothing. Sends no cookie or credential
 * and uses no proxy. Never rejects.
 * @see DIS-5 in docs/specification.md
 */

import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import type { Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { certificateProblem, connectionCause } from '../connection-cause.ts';
import { createStopSignal, unlessAborted } from '../stop-signal.ts';
import { ownUserAgent } from '../user-agent.ts';
import { isPublicAddress } from './public-address.ts';

interface FetchRequest {
  readonly url: string;
  /** Content types, or prefixes of them. */
  readonly accept: readonly string[];
  readonly maxBytes: number;
  readonly timeoutMs: number;
}

export type FetchOutcome =
  | { readonly kind: 'fetched'; readonly url: string; readonly type: string; readonly bytes: Buffer }
  | { readonly kind: 'refused'; readonly why: string };

interface FetchPublicPorts {
  /** Every address of a name. */
  readonly resolve: (host: string) => Promise<readonly LookupAddress[]>;
  readonly isAllowed: (address: string) => boolean;
}

export type FetchPublic = (request: FetchRequest, signal: AbortSignal) => Promise<FetchOutcome>;

const maxRedirects = 5;
const maxUrlLength = 4_096;

const defaultPorts: FetchPublicPorts = {
  resolve: (host) => lookup(host, { all: true }),
  isAllowed: isPublicAddress,
};

export function createFetchPublic(ports: Partial<FetchPublicPorts> = {}): FetchPublic {
  const { resolve, isAllowed } = { ...defaultPorts, ...ports };
  return async (request, signal) => {
    const stop = createStopSignal([signal], request.timeoutMs);
    try {
      let at = request.url;
      for (let hop = 0; hop <= maxRedirects; hop += 1) {
        const url = readUrl(at);
        // The system resolver cannot be cancelled.
        const addresses = await unlessAborted(addressesOf(url, resolve), stop.signal);
        if (addresses.length === 0 || !addresses.every(({ address }) => isAllowed(address))) {
          throw new Refusal(`${url.hostname} is not on the public internet; private addresses are not fetched`);
        }
        const answer = await open(url, addresses, stop.signal);
        const next = redirectOf(answer, url);
        if (next === undefined) return await read(answer, url, request);
        answer.destroy();
        at = next;
      }
      throw new Refusal(`it redirects more than ${maxRedirects} times`);
    } catch (thrown) {
      if (thrown instanceof Refusal) return { kind: 'refused', why: thrown.message };
      if (signal.aborted) return { kind: 'refused', why: 'the run was stopped' };
      if (stop.isTimeOver())
        return { kind: 'refused', why: `no complete answer within ${request.timeoutMs / 1_000} s` };
      const cause = certificateProblem(thrown, false)?.why ?? connectionCause(thrown);
      return { kind: 'refused', why: `it could not be fetched: ${cause}` };
    } finally {
      stop.release();
    }
  };
}

/** A reason that the model reads. */
class Refusal extends Error {}

function readUrl(text: string): URL {
  if (text.length > maxUrlLength || !URL.canParse(text))
    throw new Refusal('that is no URL; give a complete one, https://…');
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') throw new Refusal('only http and https URLs are fetched');
  if (url.username !== '' || url.password !== '') throw new Refusal('a URL with a login is not fetched');
  return url;
}

/** `URL` has already normalized every notation of an IPv4 address. */
async function addressesOf(url: URL, resolve: FetchPublicPorts['resolve']): Promise<readonly LookupAddress[]> {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const family = isIP(host);
  return family === 0 ? resolve(host) : [{ address: host, family }];
}

function open(url: URL, addresses: readonly LookupAddress[], signal: AbortSignal): Promise<IncomingMessage> {
  const request = url.protocol === 'https:' ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const sent = request(url, {
      method: 'GET',
      headers: { accept: '*/*', 'accept-encoding': 'identity', 'user-agent': ownUserAgent },
      // A pooled connection was checked for another name.
      agent: false,
      lookup: pinned(addresses),
      signal,
    });
    sent.on('response', resolve);
    sent.on('error', reject);
    // A protocol upgrade is not a usable response.
    sent.on('upgrade', (_, socket) => {
      socket.destroy();
      reject(new Refusal('it answered with another protocol'));
    });
    sent.end();
  });
}

/**
 * Returns the checked addresses, whatever the name resolves to now. Asynchronous, because the system refuses some
 * addresses at once and the request listens for the socket's error only in a later tick.
 */
function pinned(addresses: readonly LookupAddress[]): LookupFunction {
  return (_, options, callback) => {
    const [first] = addresses;
    setImmediate(() => {
      if (options.all === true) callback(null, [...addresses]);
      else callback(null, first?.address ?? '', first?.family);
    });
  };
}

function redirectOf({ statusCode = 0, headers }: IncomingMessage, from: URL): string | undefined {
  if (![301, 302, 303, 307, 308].includes(statusCode) || headers.location === undefined) return undefined;
  // Node reads headers as Latin-1. A server that does not encode an address writes it in UTF-8.
  const location = Buffer.from(headers.location, 'latin1').toString('utf8');
  if (!URL.canParse(location, from.href)) throw new Refusal('it redirects to what is no URL');
  return new URL(location, from).href;
}

async function read(answer: IncomingMessage, url: URL, { accept, maxBytes }: FetchRequest): Promise<FetchOutcome> {
  const { statusCode = 0, headers } = answer;
  try {
    if (statusCode < 200 || statusCode > 299) throw new Refusal(`it answered HTTP ${statusCode}`);
    const type = headers['content-type']?.toLowerCase() ?? '';
    if (!accept.some((one) => type.startsWith(one))) {
      throw new Refusal(`it is of the type ${/^[\w./+-]{1,80}/.exec(type)?.[0] ?? 'unknown'}, which is not read here`);
    }
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of decoded(answer) as AsyncIterable<Buffer>) {
      bytes += chunk.byteLength;
      if (bytes > maxBytes) throw new Refusal(`it is longer than ${maxBytes} bytes`);
      chunks.push(chunk);
    }
    return { kind: 'fetched', url: url.href, type, bytes: Buffer.concat(chunks) };
  } finally {
    answer.destroy();
  }
}

/** `identity` was requested, but some servers compress anyway. The size limit applies to the decoded bytes. */
function decoded(answer: IncomingMessage): Readable {
  const through = decoderOf(answer.headers['content-encoding']?.trim().toLowerCase() ?? '');
  if (through === undefined) return answer;
  answer.on('error', (error) => through.destroy(error));
  through.on('close', () => answer.destroy());
  return answer.pipe(through);
}

function decoderOf(encoding: string) {
  switch (encoding) {
    case '':
    case 'identity':
      return undefined;
    case 'gzip':
    case 'x-gzip':
      return createGunzip();
    case 'deflate':
      return createInflate();
    case 'br':
      return createBrotliDecompress();
    default:
      throw new Refusal('it is compressed in a way that is not read here');
  }
}
