/**
 * Fetches the certificates and sets of keys that providers publish, and visits the URL that confirms an SNS subscription.
 * What was fetched is cached; no fetch delays a request by more than 3 s. Of certificates at most four are fetched at once. A
 * set of keys is fetched again after an hour, or for a key that it lacks, and kept while that fails. The caller has checked
 * the URL.
 * @see SRC-1 in docs/specification.md
 */

import { causeOf } from '../../machines/base/fault.ts';
import { type Needed, publicKeysIn } from '../../machines/webhook/jwt.ts';
import type { Logger } from '../ports.ts';
import { throughProxy } from '../through-proxy.ts';

export interface Certificates {
  /** The PEM text or the set of keys, if it was fetched. */
  get(url: string): string | undefined;
  /** Resolves once what verifies the request is cached or cannot be fetched now; never rejects. */
  fetch(needed: Needed): Promise<void>;
  /** Requests a URL; resolves with the reason if the request fails, and never rejects. */
  visit(url: string): Promise<string | undefined>;
}

interface CertificatePorts {
  readonly log: Logger;
  readonly timeoutMs?: number;
  readonly nowMs?: () => number;
}

const maxKept = 64;
const maxUnderWay = 4;
const maxVisits = 8;
const maxBytes = 65_536;
/** How long a set of keys is used. */
const renewAfterMs = 3_600_000;
/** Anyone can name a key that does not exist. */
const askAgainAfterMs = 10_000;
const beginOfCertificate = '-----BEGIN CERTIFICATE-----';

export function createCertificates({
  log,
  timeoutMs = 3_000,
  nowMs = () => performance.now(),
}: CertificatePorts): Certificates {
  const kept = new Map<string, string>();
  const underWay = new Map<string, Promise<void>>();
  /** When a set of keys was last asked for. */
  const askedAtMs = new Map<string, number>();
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

  async function keep({ url, hasKey }: Needed): Promise<void> {
    const what = hasKey === undefined ? 'certificate' : 'key';
    try {
      const text = await read(url);
      // Kept, the page of a proxy would refuse every event until a restart.
      const isIt = hasKey === undefined ? text.includes(beginOfCertificate) : publicKeysIn(text).size > 0;
      if (!isIt) throw new Error(`the answer holds no ${what}`);
      const [oldest] = kept.keys();
      if (kept.size >= maxKept && oldest !== undefined) kept.delete(oldest);
      kept.set(url, text);
    } catch (thrown) {
      // One warning per host, because any sender can name many URLs that do not exist.
      log.warnOnce(
        `certificate/${new URL(url).host}`,
        `the ${what} at ${url} could not be fetched: ${causeOf(thrown)}`,
      );
    } finally {
      underWay.delete(url);
    }
  }

  function isTooSoon({ url, hasKey }: Needed): boolean {
    const restMs = hasKey === true ? renewAfterMs : askAgainAfterMs;
    if (nowMs() < (askedAtMs.get(url) ?? Number.NEGATIVE_INFINITY) + restMs) return true;
    askedAtMs.set(url, nowMs());
    return false;
  }

  return {
    get: (url) => kept.get(url),
    async fetch(needed) {
      const { url, hasKey } = needed;
      if (!underWay.has(url)) {
        const isRefused = hasKey === undefined ? kept.has(url) || underWay.size >= maxUnderWay : isTooSoon(needed);
        if (isRefused) return;
        underWay.set(url, keep(needed));
      }
      await underWay.get(url);
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
