/**
 * What a run used: model requests, tokens and, if prices are set, money.
 * @see DIS-3 in docs/specification.md
 */

import type { ModelPrices } from '../config/settings.ts';
import type { Tokens } from './model-talk.ts';

export interface Spending {
  /** Requests to the model. */
  readonly steps: number;
  readonly inputTokens: number;
  /** Those of the input that were read from the endpoint's cache; absent if none. */
  readonly cachedTokens?: number;
  readonly outputTokens: number;
  /** In the currency of the prices; absent without prices. */
  readonly cost?: number;
}

export const noSpending: Spending = { steps: 0, inputTokens: 0, outputTokens: 0 };

const million = 1_000_000;
/** More decimals are rounding noise. */
const decimals = 6;

export function spendingOf(steps: number, tokens: Tokens, prices: ModelPrices | undefined): Spending {
  const { input, cached, written, output } = tokens;
  const spending = { steps, inputTokens: input, ...(cached > 0 && { cachedTokens: cached }), outputTokens: output };
  if (prices === undefined) return spending;
  const { inputPerMillion, cachedPerMillion, writtenPerMillion, outputPerMillion } = prices;
  const fresh = Math.max(0, input - cached - written) * inputPerMillion;
  const cost = (fresh + cached * cachedPerMillion + written * writtenPerMillion + output * outputPerMillion) / million;
  return { ...spending, cost: Number(cost.toFixed(decimals)) };
}
