/**
 * The texts of a server: its state in one word, why it takes no calls as a sentence, and the order of the list. Independent
 * of the page.
 * @see LIF-1 and INS-4 in docs/specification.md
 */

import type { ServerRow } from '../../../control/contract/servers.ts';
import type { MarkName } from '../parts/chip.tsx';
import { counted, sentenceCase } from './format.ts';

export const serverTabs = ['log', 'tools', 'calls', 'settings', 'chart'] as const;
export type ServerTab = (typeof serverTabs)[number];

const states: Readonly<Record<string, readonly [label: string, mark: MarkName]>> = {
  connected: ['Connected', 'healthy'],
  starting: ['Connecting', 'working'],
  connecting: ['Connecting', 'working'],
  recycling: ['Connecting', 'working'],
  lazy: ['Lazy', 'queued'],
  needsLogin: ['Needs login', 'waiting'],
  backingOff: ['Retrying', 'retrying'],
  parked: ['Failing', 'failed'],
  failed: ['Failing', 'failed'],
  disabled: ['Disabled', 'disabled'],
  stopped: ['Stopped', 'disabled'],
};

export function serverLabel(state: string): string {
  return states[state]?.[0] ?? state;
}

export function serverMark(state: string): MarkName {
  return states[state]?.[1] ?? 'queued';
}

/** Returns the label, with the number of tools where they can be called. */
export function serverState({ state, tools }: Pick<ServerRow, 'state' | 'tools'>): string {
  return state === 'connected' || state === 'lazy'
    ? `${serverLabel(state)}, ${counted(tools, 'tool')}`
    : serverLabel(state);
}

/** Returns whether its log comes first, as evidence: during the next attempt too, so that nothing moves. */
export function isFailing({ state, failures = 0 }: ServerRow): boolean {
  return state === 'failed' || state === 'parked' || state === 'backingOff' || (state === 'connecting' && failures > 0);
}

/** Failing, then waiting for a person, then by name. */
export function inListOrder(rows: readonly ServerRow[]): readonly ServerRow[] {
  const rank = (row: ServerRow): number => (isFailing(row) ? 0 : row.state === 'needsLogin' ? 1 : 2);
  return [...rows].sort((one, other) => rank(one) - rank(other) || one.name.localeCompare(other.name));
}

/** Returns the line below the name in the list. */
export function serverLine(row: ServerRow): string {
  return (isFailing(row) ? whyOf(row) : '') || serverState(row);
}

/** Returns why it takes no calls, as a sentence. */
export function whyOf({ failure }: ServerRow): string {
  return sentenceCase(failure?.why ?? '');
}

/** Returns the server's own name of a registered tool: `create_review` for `mcp__github__create_review`. */
export function ownToolName(tool: string, server: string): string {
  const prefix = `mcp__${server.replace(/\W/g, '_')}__`;
  return tool.startsWith(prefix) ? tool.slice(prefix.length) : tool;
}

/** Returns the tool's own name with its server: `github.create_review`. */
export function toolWords(tool: string, server: string): string {
  const own = ownToolName(tool, server);
  return own === tool ? tool : `${server}.${own}`;
}
