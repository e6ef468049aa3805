/**
 * What a run took: questions, tokens and, where prices are known, money. Arithmetic only.
 * @see DIS-3 in docs/specification.md
 */

import type { ModelPrices } from '../config/settings.ts';
import type { Tokens } from './model-talk.ts';

export interface Spending {
  /** Questions to the model. */
  readonly steps: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** In the money of the prices; absent where there are none. */
  readonly cost?: number;
}

const million = 1_000_000;
/** Beyond this a sum of fractions is noise. */
const decimals = 6;

export function spendingOf(steps: number, { input, output }: Tokens, prices: ModelPrices | undefined): Spending {
  const spending = { steps, inputTokens: input, outputTokens: output };
  if (prices === undefined) return spending;
  const cost = (input * prices.inputPerMillion + output * prices.outputPerMillion) / million;
  return { ...spending, cost: Number(cost.toFixed(decimals)) };
}
