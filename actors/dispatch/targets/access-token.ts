/**
 * Keeps the short-lived token that a platform issues for an app's secret: fetched when first needed, and again when it
 * expires or the platform refuses it. If no token is available, nothing was sent.
 */

import { refused, type SendOutcome, transient, type Undelivered } from '../../../machines/dispatch/send-outcome.ts';
import type { Now } from '../../ports.ts';

type TokenAnswer = { readonly kind: 'token'; readonly token: string; readonly lifetimeMs: number } | SendOutcome;

/** The outcome of a call whose token the platform no longer accepts. */
export const tokenRefused = refused('auth', 'the platform refuses the access token that it gave a moment ago');

interface AccessToken {
  /** Makes a call with a token; once more with a fresh token if the outcome is `tokenRefused`. */
  use<Outcome>(signal: AbortSignal, call: (token: string) => Promise<Outcome>): Promise<Outcome | Undelivered>;
}

/** A token is not used in its last minute. */
const marginMs = 60_000;

export function createAccessToken(fetchToken: (signal: AbortSignal) => Promise<TokenAnswer>, now: Now): AccessToken {
  let kept: { readonly token: string; readonly untilMs: number } | undefined;

  const current = async (signal: AbortSignal): Promise<string | Undelivered> => {
    if (kept !== undefined && now() < kept.untilMs) return kept.token;
    const answer = await fetchToken(signal);
    if (answer.kind === 'token') {
      kept = { token: answer.token, untilMs: now() + Math.max(0, answer.lifetimeMs - marginMs) };
      return answer.token;
    }
    // Whatever happened to the token request, no message was sent.
    if (answer.kind === 'unknown' || answer.kind === 'delivered') return transient('the platform gave no access token');
    return answer;
  };

  return {
    async use(signal, call) {
      for (let attempt = 1; attempt <= 2; attempt += 1) {
        const token = await current(signal);
        if (typeof token !== 'string') return token;
        const outcome = await call(token);
        if (outcome !== tokenRefused) return outcome;
        if (kept?.token === token) kept = undefined;
      }
      return tokenRefused;
    },
  };
}

/** Milliseconds from a number or text of seconds; two hours if the platform gives none. */
export function lifetimeOf(seconds: unknown): number {
  const number = typeof seconds === 'string' ? Number(seconds) : seconds;
  return typeof number === 'number' && Number.isFinite(number) && number > 0 ? number * 1_000 : 7_200_000;
}
