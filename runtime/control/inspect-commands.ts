/**
 * The commands of the inspector: the tree, one actor, the stream, a chart, the link that opens the page, and the overview.
 * Part of the table of the control socket.
 * @see INS-2, INS-4, SEC-1 and CLI-3 in docs/specification.md
 */

import { existsSync } from 'node:fs';
import type { JsonObject } from '../../machines/base/json.ts';
import { guestPattern } from '../../machines/base/names.ts';
import { type NamedRange, rangeSpans } from '../../machines/base/time-range.ts';
import { createSessionFile, sessionsPath } from '../inspector/session-file.ts';
import { createPageSessions, type EndedSessions } from '../inspector/sessions.ts';
import { type Commands, daemonOf, ofDaemon, optionalText, textOf } from './command.ts';
import type { ActorNode, FollowQuery } from './contract/actors.ts';
import type { OverviewChoice } from './contract/overview.ts';
import { refuse } from './contract/refusal.ts';
import { choiceOf, unknownDelivery } from './event-choice.ts';
import { profileIn } from './mcp-commands.ts';
import type { DaemonView } from './view.ts';
import { findingsOf } from './webhook-doctor.ts';

export const inspectCommands = {
  'inspect.tree': ofDaemon((daemon) => daemon.tree()),
  'inspect.show': ofDaemon((daemon, params) => {
    const actor = textOf(params, 'actor');
    const found = daemon.actor(actor);
    if (found !== undefined) return found;
    // The tree shows a pool without the address of its parent.
    const pool = [`servers/${actor}`, `gateway/${actor}`].find((id) => daemon.actor(id) !== undefined);
    const cure = pool === undefined ? '`agent inspect tree` lists them' : `did you mean "${pool}"?`;
    return refuse('actor-unknown', `no actor has the address "${actor}"; ${cure}`);
  }),

  'inspect.why': async (host, params) => {
    const id = textOf(params, 'id');
    const choice = choiceOf(params);
    const timeline = await daemonOf(host).why(id, choice);
    if (timeline?.status === 'refused') return { ...timeline, findings: findingsOf(timeline, host) };
    return timeline ?? unknownDelivery(id, choice);
  },

  'inspect.chart': ofDaemon(async (daemon, params) => {
    const machine = textOf(params, 'machine');
    return (await daemon.chart(machine)) ?? unknownChart(machine);
  }),

  'inspect.link': (host, params, peer) => {
    const who = optionalText(params, 'as') ?? 'owner';
    if (!guestPattern.test(who))
      return refuse(
        'guest-name',
        `"as" is a name of 1 to 64 letters, digits and . _ @ + -, not ${JSON.stringify(who)}`,
      );
    const guest = params.read_only === true ? ({ who, role: 'reader' } as const) : { who };
    let isThere = true;
    peer.onEnd(() => {
      isThere = false;
    });
    const verdict = daemonOf(host).link(() => {
      if (isThere) peer.notify('inspect.opened', {});
    }, guest);
    if (verdict.kind === 'link') return { url: verdict.url };
    return refuse('inspector-closed', verdict.why);
  },

  'inspect.endSessions': async ({ daemon, source }) => {
    const { count, isKept } = await (daemon === undefined ? endKeptSessions(source.home) : daemon.endSessions());
    if (isKept) return { ended: count };
    return refuse(
      'sessions-unwritable',
      `state/inspector-sessions.json: cannot be written; ${count} sessions are ended, and back after a restart unless the file is deleted`,
    );
  },

  'inspect.watch': (host, _, peer) => {
    const daemon = daemonOf(host);
    // Followed before the snapshot is taken, so that no change in between is lost.
    peer.onEnd(daemon.feed.follow((delta) => peer.notify('inspect.delta', delta)));
    return daemon.feed.snapshot();
  },

  'inspect.follow': async (host, params, peer) => {
    const daemon = daemonOf(host);
    const query = queryOf(params);
    const { machine } = query;
    // A pool has no chart, and the actors of a chart may come later.
    if (machine !== undefined && !isInTree(daemon.tree(), machine) && (await daemon.chart(machine)) === undefined)
      return unknownChart(machine);
    const report = (record: JsonObject | string): void => peer.notify('inspect.record', record);
    peer.onEnd(daemon.follow(query, report));
    // A client that connects late gets the running actors before their steps.
    if (query.full === true) for (const record of daemon.introduce(query)) report(record);
    return { snapshot: daemon.tree() };
  },

  'overview.read': ofDaemon((daemon, params) => daemon.overview.read(choiceIn(daemon, params))),
  'overview.watch': async (host, params, peer) => {
    const daemon = daemonOf(host);
    const choice = choiceIn(daemon, params);
    const forget = daemon.overview.watch(choice, (overview) => peer.notify('overview.changed', overview));
    peer.onEnd(forget);
    return { watching: choice.range };
  },
} satisfies Partial<Commands>;

/** Ends the sessions in their file, because without a daemon none are in memory. */
async function endKeptSessions(home: string): Promise<EndedSessions> {
  const path = sessionsPath(home);
  if (!existsSync(path)) return { count: 0, isKept: true };
  return createPageSessions(
    Date.now,
    createSessionFile(() => path, { log: () => {}, warnOnce: () => {} }),
  ).endAll();
}

function unknownChart(machine: string): never {
  return refuse('chart-unknown', `no chart is named "${machine}"; \`agent inspect tree\` shows each actor's`);
}

function isInTree({ machine, children }: ActorNode, wanted: string): boolean {
  return machine === wanted || children.some((child) => isInTree(child, wanted));
}

function queryOf(params: JsonObject): FollowQuery {
  const query: Record<string, string | true> = {};
  for (const name of ['actor', 'machine', 'route', 'server', 'delivery']) {
    const value = optionalText(params, name);
    if (value !== undefined) query[name] = value;
  }
  if (params.full === true) query.full = true;
  return query;
}

function choiceIn({ mcp }: DaemonView, params: JsonObject): OverviewChoice {
  const range = rangeIn(params);
  return optionalText(params, 'profile') === undefined ? { range } : { range, profile: profileIn(mcp, params) };
}

function rangeIn(params: JsonObject): NamedRange {
  const asked = optionalText(params, 'range') ?? '1h';
  const known = (Object.keys(rangeSpans) as NamedRange[]).find((name) => name === asked);
  return known ?? refuse('params-missing', `range is one of ${Object.keys(rangeSpans).join(', ')}, not "${asked}"`);
}
