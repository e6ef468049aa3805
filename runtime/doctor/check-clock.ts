/**
 * Compares this machine's clock with those of the configured endpoints, by the Date header of their answers. A wrong
 * clock refuses genuine signatures and misses due times. Sends no credentials and follows no redirects.
 * @see SIG-3 and CLI-2 in docs/specification.md
 */

import { throughProxy } from '../../actors/through-proxy.ts';
import { isLoopback } from '../../machines/base/loopback.ts';
import { type Examined, type Finding, good } from './finding.ts';

/** Signed timestamps are accepted within this window (SIG-3). */
const signatureWindowMs = 300_000;
const noticeableMs = 30_000;
const patienceMs = 4_000;
const maxAsked = 6;
/** A Date has whole seconds: on average it is half a second behind. */
const roundingMs = 500;

interface ClockPorts {
  readonly now: () => number;
  /** The Date header of an answer; undefined if there is none. */
  readonly dateOf: (url: string) => Promise<string | undefined>;
}

export async function checkClock(
  examined: Examined,
  ports: ClockPorts = { now: Date.now, dateOf },
): Promise<readonly Finding[]> {
  if (examined.offline) return [];
  const skews = await Promise.all(
    endpointsOf(examined.home)
      .slice(0, maxAsked)
      .map((url) => skewAgainst(url, ports)),
  );
  const known = skews.filter((skew) => skew !== undefined);
  if (known.length === 0) {
    return [
      {
        level: 'note',
        code: 'clock-unknown',
        place: 'the clock',
        what: 'no configured endpoint gave the time',
        cure: '`timedatectl` shows whether it is synchronised',
      },
    ];
  }
  // An endpoint's clock may be wrong too; if any agrees with ours, ours is right.
  const least = known.reduce((one, other) => (Math.abs(other) < Math.abs(one) ? other : one));
  if (Math.abs(least) < noticeableMs)
    return [good(`agrees with ${known.length === 1 ? 'an endpoint' : `${known.length} endpoints`}`)];
  const seconds = Math.round(Math.abs(least) / 1_000);
  const refuses = Math.abs(least) >= signatureWindowMs;
  return [
    {
      level: refuses ? 'wrong' : 'warning',
      code: 'clock-skew',
      place: 'the clock',
      what: `is ${seconds} s ${least > 0 ? 'behind' : 'ahead'}${refuses ? ', so that genuine signatures are refused' : ''}`,
      cure: 'synchronise it, such as by `timedatectl set-ntp true`',
    },
  ];
}

async function skewAgainst(url: string, { now, dateOf: ask }: ClockPorts): Promise<number | undefined> {
  const asked = now();
  const theirs = Date.parse((await ask(url)) ?? '');
  return Number.isNaN(theirs) ? undefined : theirs + roundingMs - (asked + now()) / 2;
}

/** The origins of all configured HTTP endpoints; this machine's own clock proves nothing. */
function endpointsOf(home: Examined['home']): readonly string[] {
  const origins = new Set<string>();
  const add = (url: unknown): void => {
    if (typeof url !== 'string' || !URL.canParse(url)) return;
    const { protocol, origin, hostname } = new URL(url);
    if (/^https?:$/.test(protocol) && !isLoopback(hostname)) origins.add(`${origin}/`);
  };
  for (const { settings } of home.profiles.values()) {
    for (const { enabled, entry } of settings.servers) if (enabled) add(entry.url);
    for (const { enabled, apiBase } of Object.values(settings.platforms)) if (enabled) add(apiBase);
    if (settings.agent.runner === 'model') add(settings.agent.model?.baseUrl);
  }
  return [...origins];
}

async function dateOf(url: string): Promise<string | undefined> {
  try {
    const route = await throughProxy(url);
    if (route.kind === 'unusable') return undefined;
    const signal = AbortSignal.timeout(patienceMs);
    const answer = await fetch(url, { ...route.init, method: 'HEAD', redirect: 'manual', signal });
    return answer.headers.get('date') ?? undefined;
  } catch {
    // Another check reports whether it can be reached.
    return undefined;
  }
}
