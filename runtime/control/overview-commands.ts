/**
 * The commands of the overview: read once, or watched.
 * @see INS-4 in docs/specification.md
 */

import type { JsonObject } from '../../machines/base/json.ts';
import { type NamedRange, rangeSpans } from '../../machines/base/time-range.ts';
import { type Commands, daemonOf, ofDaemon, optionalText, refuse } from './command.ts';
import type { OverviewChoice } from './contract.ts';

export const overviewCommands = {
  'overview.read': ofDaemon((daemon, params) => daemon.overview.read(choiceIn(params))),
  'overview.watch': {
    access: 'daemon',
    run: async (params, host, peer) => {
      const choice = choiceIn(params);
      const forget = daemonOf(host).overview.watch(choice, (overview) => peer.notify('overview.changed', overview));
      peer.onEnd(forget);
      return { watching: choice.range };
    },
  },
} satisfies Partial<Commands>;

function choiceIn(params: JsonObject): OverviewChoice {
  const profile = optionalText(params, 'profile');
  return { range: rangeIn(params), ...(profile === undefined ? {} : { profile }) };
}

function rangeIn(params: JsonObject): NamedRange {
  const asked = optionalText(params, 'range') ?? '1h';
  const known = (Object.keys(rangeSpans) as NamedRange[]).find((name) => name === asked);
  return known ?? refuse('params-missing', `range is one of ${Object.keys(rangeSpans).join(', ')}, not "${asked}"`);
}
