/**
 * The texts of one gateway among several: its state with a mark, its work and its rate. Independent of the page.
 * @see SCA-3 in docs/specification.md
 */

import type { DatabaseShown, GatewayStatus, NodeRow, RecoveredWork } from '../../../control/contract/gateway.ts';
import { counted, formatSpan, formatTook } from './format.ts';
import type { Standing } from './standing.ts';

export interface NodeState {
  readonly standing: Standing;
  readonly words: string;
}

/** "3 ms median · 9 ms at the 95th percentile". */
export function commitWords({ median, p95 }: NonNullable<GatewayStatus['commit_ms']>): string {
  return `${formatTook(median)} median · ${formatTook(p95)} at the 95th percentile`;
}

/** "1 standby; commits wait for eu-b". */
export function standbyWords({ connected, awaited }: DatabaseShown['standbys']): string {
  const standbys = connected === 0 ? 'no standby' : counted(connected, 'standby', 'standbys');
  return awaited === undefined ? standbys : `${standbys}; commits wait for ${awaited}`;
}

const restarting = /^(crashed|restarting)$/;
const ending = /^(draining|closing|stopped)$/;
const starting = /^(booting|resuming|opening)$/;

/** The state of a listed gateway. */
export function stateOfNode({ status, silent_ms }: NodeRow): NodeState {
  if (status === undefined) return { standing: 'retrying', words: `No answer for ${formatSpan(silent_ms)}` };
  const state = status.state.slice(status.state.lastIndexOf('.') + 1);
  if (ending.test(state)) return { standing: 'working', words: 'Draining' };
  if (starting.test(state)) return { standing: 'working', words: 'Starting' };
  if (restarting.test(state)) return { standing: 'retrying', words: 'Restarting' };
  if (state === 'failed') return { standing: 'failed', words: 'Failed' };
  const { webhook, journal } = status;
  const fault = webhook.fault ?? (journal === 'ready' ? undefined : journal);
  return fault === undefined
    ? { standing: 'resting', words: 'Serving' }
    : { standing: 'failed', words: `Not serving: ${fault}` };
}

/** The state of a gateway that is not listed any more, from its last row. */
export function stateOfGone(last: NodeRow): NodeState {
  if (last.status === undefined) return { standing: 'failed', words: 'Lost' };
  const { words } = stateOfNode(last);
  return words === 'Draining'
    ? { standing: 'ended', words: 'Stopped' }
    : { standing: 'failed', words: 'Stopped or lost' };
}

/** Its runs and deliveries in progress; undefined if it did not answer. */
export function workOfNode({ status }: NodeRow): string | undefined {
  if (status === undefined) return undefined;
  const { agentRun = 0, delivery = 0 } = status.actors;
  const parts = [
    ...(agentRun === 0 ? [] : [counted(agentRun, 'run')]),
    ...(delivery === 0 ? [] : [counted(delivery, 'delivery', 'deliveries')]),
  ];
  return parts.join(', ') || 'none';
}

/** Requests to its routes per minute, over the last hour or since its start; undefined if it does not report them. */
export function rateOfNode({ status }: NodeRow): number | undefined {
  const { requests_by_minute: minutes, uptime_seconds = 0 } = status ?? {};
  if (minutes === undefined) return undefined;
  const lived = Math.min(minutes.length, Math.max(1, uptime_seconds / 60));
  return minutes.reduce((sum, count) => sum + count, 0) / lived;
}

/** "2.7", "140" */
export function rateWords(rate: number): string {
  return rate < 10 ? String(Math.round(rate * 10) / 10) : Math.round(rate).toLocaleString('en');
}

export interface RecoveredRow extends RecoveredWork {
  /** The gateway that recovered it. */
  readonly by: string;
  readonly key: string;
}

/** The recovered work, newest first. Keys are numbered, because an event can have several deliveries to a target. */
export function recoveredOf(rows: readonly NodeRow[]): readonly RecoveredRow[] {
  const counts = new Map<string, number>();
  const rowOf = (one: RecoveredWork, by: string): RecoveredRow => {
    const words = [one.at, by, one.kind, one.event, one.target].join(' ');
    const count = (counts.get(words) ?? 0) + 1;
    counts.set(words, count);
    return { ...one, by, key: `${words} ${count}` };
  };
  return rows
    .flatMap(({ node, status }) => status?.recovered?.map((one) => rowOf(one, node)) ?? [])
    .sort((one, other) => other.at.localeCompare(one.at));
}
