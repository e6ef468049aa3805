/**
 * Checks whether the agent's command exists and whether servers and targets can be reached. A running gateway reports the
 * state of its connections; without one, each server that needs no login is connected once. Begins no login.
 * @see LIF-1, DLV-1 and CLI-2 in docs/specification.md
 */

import { createCredentials } from '../../actors/oauth/credentials.store.ts';
import { findCommand } from '../../actors/process-group.ts';
import { createStopSignal } from '../../actors/stop-signal.ts';
import { defaultProfile, inProfile, type ProfileName } from '../../machines/base/names.ts';
import { clientOf } from '../../machines/config/loose-ends.ts';
import { profilePaths } from '../../machines/config/profile.ts';
import { deliveriesOf } from '../../machines/config/route.ts';
import { canonicalTarget } from '../../machines/config/targets.ts';
import { oauthPlanOf, readServerSettings } from '../../machines/mcp/server-settings.ts';
import { serverCommand } from '../../machines/oauth/login-hint.ts';
import { learnSecrets } from '../config/loaded-home.ts';
import type { TargetRow } from '../control/contract/deliveries.ts';
import type { ServerRow } from '../control/contract/servers.ts';
import { createRedactor } from '../observe/redact.ts';
import { type Examined, type Finding, good, type Trouble } from './finding.ts';

/** A person waits for the report; `agent mcp test` waits for the entry's timeout. */
const defaultPatienceMs = 15_000;
const atOnce = 4;

export function checkAgent({ home }: Examined): readonly Finding[] {
  const routes = [...home.profiles.values()].flatMap(({ settings }) => settings.webhook.routes);
  const findings = [...home.profiles.values()].flatMap(({ name, paths, searchPath, settings }) => {
    const { runner, command, cwd = paths.home } = settings.agent;
    const comments = ({ route }: (typeof routes)[number]): boolean =>
      route.profile === name &&
      [...deliveriesOf(route).map(({ to }) => to), route.onFailure].some(
        (target) => canonicalTarget(target ?? '') === 'github_comment',
      );
    const needed = [
      ...(runner === 'command' ? [{ word: command[0] ?? '', what: 'the command of agent.command', from: cwd }] : []),
      ...(routes.some(comments)
        ? [
            {
              word: clientOf(settings.platforms.github_comment),
              what: 'the client that github_comment calls',
              from: paths.home,
            },
          ]
        : []),
    ];
    return needed
      .filter(({ word, from }) => word !== '' && findCommand(word, searchPath, from) === undefined)
      .map(({ word, what }): Finding => {
        const place = inProfile(word, name);
        const said = `${what} is not in the gateway's PATH or cannot be executed`;
        const cure = 'install it, give its full path, or start the gateway with a PATH that has it';
        return { level: 'wrong', code: 'command-missing', place, what: said, cure };
      });
  });
  return findings.length > 0 ? findings : [good(`runner ${home.main.settings.agent.runner}`)];
}

export async function checkServers(examined: Examined, patienceMs = defaultPatienceMs): Promise<readonly Finding[]> {
  const { gateway, home } = examined;
  const enabled = [...home.profiles.values()].flatMap(({ name: profile, settings }) =>
    settings.servers.filter((server) => server.enabled).map((server) => ({ profile, server })),
  );
  if (enabled.length === 0) return [good('none is configured')];
  // The findings of the configuration report the others.
  const sound = enabled.filter(({ server }) => server.problem === undefined);
  const broken = enabled.filter(({ server }) => server.problem !== undefined);
  const isBroken = ({ profile, name }: ServerRow): boolean =>
    broken.some((one) => one.profile === profile && one.server.name === name);
  const rows = await gateway?.ask('mcp.list');
  if (gateway !== undefined && rows === undefined && sound.length > 0) {
    const names = sound.map(({ profile, server }) => inProfile(server.name, profile)).join(', ');
    return [notAsked(names, 'the gateway gave no answer; look again in a moment')];
  }
  const findings =
    gateway === undefined
      ? await fewAtOnce(sound, ({ profile, server }) => probed(examined, { profile, server, patienceMs }))
      : findingsOf(rows, (row) => (isBroken(row) ? undefined : serverTrouble(row)));
  if (findings.length > 0 || sound.length === 0) return findings;
  return [good(`${sound.length === 1 ? 'one answers' : `all ${sound.length} answer`}`)];
}

export async function checkTargets({ gateway, home }: Examined): Promise<readonly Finding[]> {
  const enabled = [...home.profiles.values()].flatMap(({ settings }) =>
    Object.entries(settings.platforms).filter(([, platform]) => platform.enabled),
  );
  if (enabled.length === 0) return [good('none is enabled beside log')];
  const rows = await gateway?.ask('deliveries.targets');
  if (rows === undefined) {
    return [notAsked(enabled.map(([name]) => name).join(', '), 'start the gateway; it asks each platform once')];
  }
  const findings = findingsOf(rows, targetTrouble);
  return findings.length > 0 ? findings : [good(`${enabled.length} connected`)];
}

type Judged = Omit<Trouble, 'place'>;

function findingsOf<Row extends { readonly name: string; readonly profile: string }>(
  rows: readonly Row[] = [],
  judge: (row: Row) => Judged | undefined,
): readonly Finding[] {
  return rows.flatMap((row) => {
    const trouble = judge(row);
    if (trouble === undefined) return [];
    return [{ place: placeOf(row.name, row.profile), ...trouble, what: withoutName(trouble.what, row.name) }];
  });
}

function placeOf(name: string, profile: string): string {
  return profile === defaultProfile ? name : `${name}@${profile}`;
}

function serverTrouble(row: ServerRow): Judged | undefined {
  const command = (verb: 'login' | 'logs' | 'test'): string => serverCommand(verb, row.name, row.profile);
  const why = row.error ?? `is ${row.state}`;
  // A server without an answer is nearly always being connected once more. The error alone may be from before a login.
  switch (row.state === 'connecting' && (row.failures ?? 0) > 0 ? 'backingOff' : row.state) {
    case 'failed':
    case 'parked':
    case 'backingOff':
      return {
        level: 'wrong',
        code: 'server-unreachable',
        what: why,
        cure: [...(row.unset ?? []).map((words) => `it ${words}`), command('test'), command('logs')].join('; '),
      };
    case 'needsLogin':
      return { level: 'warning', code: 'server-login', what: why, cure: command('login') };
    case 'connecting':
      return { level: 'note', code: 'server-waiting', what: 'is being connected', cure: 'look again in a moment' };
    default:
      return leftOutTools(row.left_out);
  }
}

function leftOutTools(leftOut: readonly string[] = []): Judged | undefined {
  if (leftOut.length === 0) return undefined;
  const cure = 'do what the reason says, or report it to the author of the server';
  return { level: 'warning', code: 'server-tools', what: leftOut.join('; '), cure };
}

function targetTrouble({ error }: TargetRow): Judged | undefined {
  if (error === undefined) return undefined;
  return {
    level: 'wrong',
    code: 'target-unreachable',
    what: error,
    cure: 'correct what it names; if it was not reached, check the network and its address',
  };
}

interface Probe {
  readonly profile: ProfileName;
  readonly server: Parameters<typeof readServerSettings>[0];
  readonly patienceMs: number;
}

async function probed(
  { home: loaded, env, version, offline, paths }: Examined,
  { profile, server, patienceMs }: Probe,
): Promise<Finding | undefined> {
  const place = placeOf(server.name, profile);
  const settings = readServerSettings(server);
  if (oauthPlanOf(settings.transport) !== undefined)
    return notAsked(place, 'start the gateway, which has its credentials');
  if (settings.isPlacedOnce && loaded.main.settings.gateway.journal === 'postgres')
    return notAsked(place, '`agent mcp list` shows its state');
  if (offline) return notAsked(place, 'ask without --offline');
  const { probeServer } = await import('../mcp/probe.ts');
  const patience = createStopSignal([], patienceMs);
  const { home, tokens } = profilePaths(paths.home, profile);
  const redactor = createRedactor();
  learnSecrets(loaded, redactor);
  const report = redactor.record(
    await probeServer(settings, {
      profile,
      home,
      credentials: createCredentials(tokens, loaded.documents),
      env,
      version,
      nowMs: Date.now,
      signal: patience.signal,
    }),
  );
  patience.release();
  if (report.ok) {
    const trouble = leftOutTools(report.left_out);
    return trouble === undefined ? undefined : { place, ...trouble };
  }
  const trouble = { code: 'server-unreachable', place, cure: serverCommand('test', server.name, profile) } as const;
  // Its own time is not over, so it may only be slow. A shorter one is over, even if the child took long to end.
  if (patience.isTimeOver() && settings.connectTimeoutMs > patienceMs) {
    const said = /; it said: .*?(?=, or raise connect_timeout$|$)/s.exec(report.error)?.[0] ?? '';
    const what = `no answer in ${patienceMs / 1_000} s; this check waits no longer${said}`;
    return { level: 'warning', what, ...trouble };
  }
  return { level: 'wrong', what: withoutName(report.error, server.name), ...trouble };
}

/** The finding's place already has the name. */
function withoutName(text: string, name: string): string {
  const named = [`mcp server "${name}": `, `${name}: `].find((one) => text.startsWith(one));
  return named === undefined ? text : text.slice(named.length);
}

function notAsked(place: string, cure: string): Finding {
  return { level: 'note', code: 'not-asked', place, what: 'was not asked', cure };
}

/** A few at a time: a home may have many servers, and each one is a process. */
async function fewAtOnce<Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<Finding | undefined>,
): Promise<readonly Finding[]> {
  const found: (Finding | undefined)[] = [];
  const queue = [...items.entries()];
  const take = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) found[next[0]] = await work(next[1]);
  };
  await Promise.all(Array.from({ length: atOnce }, take));
  return found.filter((one) => one !== undefined);
}
