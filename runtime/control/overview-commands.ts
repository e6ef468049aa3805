/**
 * The commands of the overview: read once, or watched.
 * @see INS-4 in docs/specification.md
 */

import type { JsonObject } from '../../machines/base/json.ts';
import { type NamedRange, rangeSpans } from '../../machines/base/time-range.ts';
import { type Commands, daemonOf, ofDaemon, optionalText, refuse } from './command.ts';
import type { OverviewChoice } from './contract.ts';
import { profileIn } from './mcp-commands.ts';
import type { DaemonView } from './view.ts';

export const overviewCommands = {
  'overview.read': ofDaemon((daemon, params) => daemon.overview.read(choiceIn(daemon, params))),
  'overview.watch': async (host, params, peer) => {
    const daemon = daemonOf(host);
    const choice = choiceIn(daemon, params);
    const forget = daemon.overview.watch(choice, (overview) => peer.notify('overview.changed', overview));
    peer.onEnd(forget);
    return { watching: choice.range };
  },
} satisfies Partial<Commands>;

function choiceIn({ mcp }: DaemonView, params: JsonObject): OverviewChoice {
  const range = rangeIn(params);
  return optionalText(params, 'profile') === undefined ? { range } : { range, profile: profileIn(mcp, params) };
}

function rangeIn(params: JsonObject): NamedRange {
  const asked = optionalText(params, 'range') ?? '1h';
  const known = (Object.keys(rangeSpans) as NamedRange[]).find((name) => name === asked);
  return known ?? refuse('params-missing', `range is one of ${Object.keys(rangeSpans).join(', ')}, not "${asked}"`);
}
