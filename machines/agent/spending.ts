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
  readonly outputTokens: number;
  /** In the currency of the prices; absent without prices. */
  readonly cost?: number;
}

export const noSpending: Spending = { steps: 0, inputTokens: 0, outputTokens: 0 };

const million = 1_000_000;
/** More decimals are rounding noise. */
const decimals = 6;

export function spendingOf(steps: number, { input, output }: Tokens, prices: ModelPrices | undefined): Spending {
  const spending = { steps, inputTokens: input, outputTokens: output };
  if (prices === undefined) return spending;
  const cost = (input * prices.inputPerMillion + output * prices.outputPerMillion) / million;
  return { ...spending, cost: Number(cost.toFixed(decimals)) };
}
