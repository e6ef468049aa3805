/**
 * Fetches the certificates that providers publish, and visits the URL that confirms an SNS subscription. Fetched
 * certificates are cached; at most four fetches run at once, and none delays a request by more than 3 s. The caller has
 * checked the URL.
 * @see SRC-1 in docs/specification.md
 */

import { causeOf } from '../../machines/base/fault.ts';
import type { Logger } from '../ports.ts';
import { throughProxy } from '../through-proxy.ts';

export interface Certificates {
  /** The PEM text, if it was fetched. */
  get(url: string): string | undefined;
  /** Resolves once the certificate is cached or cannot be fetched now; never rejects. */
  fetch(url: string): Promise<void>;
  /** Requests a URL; resolves with the reason if the request fails, and never rejects. */
  visit(url: string): Promise<string | undefined>;
}

interface CertificatePorts {
  readonly log: Logger;
  readonly timeoutMs?: number;
}

const maxKept = 64;
const maxUnderWay = 4;
const maxVisits = 8;
const maxBytes = 65_536;

export function createCertificates({ log, timeoutMs = 3_000 }: CertificatePorts): Certificates {
  const kept = new Map<string, string>();
  const underWay = new Map<string, Promise<void>>();
  let visits = 0;

  async function read(url: string): Promise<string> {
    const proxy = await throughProxy(url);
    if (proxy.kind === 'unusable') throw new Error(proxy.why);
    const signal = AbortSignal.timeout(timeoutMs);
    const response = await fetch(url, { ...proxy.init, redirect: 'error', signal });
    if (!response.ok) throw new Error(`HTTP ${response.status}`);
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of response.body ?? []) {
      size += chunk.byteLength;
      if (size > maxBytes) throw new Error(`more than ${maxBytes} bytes`);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks).toString('utf8');
  }

  async function keep(url: string): Promise<void> {
    try {
      const text = await read(url);
      // Kept, the page of a proxy would refuse every event until a restart.
      if (!text.includes('-----BEGIN CERTIFICATE-----')) throw new Error('the answer holds no certificate');
      const [oldest] = kept.keys();
      if (kept.size >= maxKept && oldest !== undefined) kept.delete(oldest);
      kept.set(url, text);
    } catch (thrown) {
      // One warning per host, because any sender can name many URLs that do not exist.
      log.warnOnce(
        `certificate/${new URL(url).host}`,
        `the certificate at ${url} could not be fetched: ${causeOf(thrown)}`,
      );
    } finally {
      underWay.delete(url);
    }
  }

  return {
    get: (url) => kept.get(url),
    async fetch(url) {
      if (kept.has(url)) return;
      const known = underWay.get(url);
      if (known !== undefined) return known;
      if (underWay.size >= maxUnderWay) return;
      const begun = keep(url);
      underWay.set(url, begun);
      await begun;
    },
    async visit(url) {
      if (visits >= maxVisits) return `${new URL(url).host}: ${maxVisits} confirmations are already under way`;
      visits += 1;
      try {
        await read(url);
        return undefined;
      } catch (thrown) {
        return `${new URL(url).host}: ${causeOf(thrown)}`;
      } finally {
        visits -= 1;
      }
    },
  };
}
