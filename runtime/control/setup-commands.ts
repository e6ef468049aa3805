/**
 * The commands of the first steps: what this home and this computer already have, and changes of config.yaml that keep
 * its comments, such as which agent program runs and which platform results go to.
 * @see INS-4, HOME-4 and SEC-2 in docs/specification.md
 */

import { editHome, editHomeAndVariables, type Unwritable } from '../../actors/config/edit-home.ts';
import type { LoadedHome } from '../../actors/config/load-config.ts';
import { findCommand } from '../../actors/process-group.ts';
import { knownPrograms } from '../../machines/agent/known-programs.ts';
import type { JsonObject } from '../../machines/base/json.ts';
import { isLoopback } from '../../machines/base/loopback.ts';
import { defaultProfile, type ProfileName } from '../../machines/base/names.ts';
import { type ConfigEdit, valueIn, withEdit } from '../../machines/config/edit.ts';
import { variablesIn } from '../../machines/config/interpolate.ts';
import { profilePaths } from '../../machines/config/profile.ts';
import { deliveriesOf } from '../../machines/config/route.ts';
import { type SourceName, sourceNames, sourceOf } from '../../machines/config/sources.ts';
import { targetTitle } from '../../machines/config/targets.ts';
import { variableFor } from '../../machines/mcp/secret-places.ts';
import { samplesFor } from '../../machines/webhook/samples.ts';
import { type CommandHost, type Commands, optionalText, textOf } from './command.ts';
import { inForce, refuse } from './contract/refusal.ts';
import type { SourceChoice } from './contract/setup.ts';
import type { Result } from './contract.ts';
import { homeOf, notServed, profileOf, publicBase } from './home-view.ts';

export const setupCommands = {
  'setup.read': readSetup,
  'setup.agent': chooseAgent,
  'setup.target': chooseTarget,
  'setup.webhooks': enableWebhooks,
} satisfies Partial<Commands>;

/** Platforms that need only a token and a channel. */
const simpleTargets = ['slack', 'telegram', 'discord'] as const;

async function readSetup(host: CommandHost, params: JsonObject): Promise<Result<'setup.read'>> {
  const profile = profileOf(params.profile);
  const home = homeOf(host);
  const loaded = home.profiles.get(profile);
  if (loaded === undefined) throw notServed(profile);
  const { settings } = loaded;
  const { env } = host.source;
  const subscriptions = host.inForce?.().sources.subscriptions.get(profile)?.current().routes ?? [];
  const routes = [...settings.webhook.routes, ...subscriptions].filter(({ route }) => route.profile === profile);
  const path = loaded.scope.get('PATH') ?? env.PATH ?? '';
  const ofProfile = params.profile === undefined ? {} : { profile };
  const newest = (await host.daemon?.deliveries({ limit: 1, ...ofProfile })) ?? [];
  const { webhook: listener } = home.main.settings;
  return {
    profile,
    url: addressOf(host, home),
    webhooks_enabled: listener.enabled,
    reachable: !isLoopback(listener.host) || listener.publicUrl !== undefined,
    home: profilePaths(host.source.home, profile).home,
    runner: settings.agent.runner,
    agents: knownPrograms.filter(({ program }) => findCommand(program, path, loaded.paths.home) !== undefined),
    sources: sourceNames.flatMap(sourceChoice),
    targets: simpleTargets.map((name) => ({ name, title: targetTitle(name) })),
    done: {
      route: routes.length > 0,
      event: newest.length > 0,
      agent: settings.agent.runner !== 'echo',
      server: settings.servers.length > 0,
      target:
        Object.entries(settings.platforms).some(([name, { enabled }]) => enabled && name !== 'log') ||
        routes.some(({ route }) => deliveriesOf(route).some(({ to }) => to !== 'log')),
    },
  };
}

function sourceChoice(name: SourceName): readonly SourceChoice[] {
  const source = sourceOf(name);
  if (source === undefined) return [];
  const { title, page, secret, secretKey } = source;
  const [sample] = samplesFor(name);
  const isNeeded = secret.typed !== true && secret.sent === undefined && secretKey !== 'verify_token';
  return [
    { name, title, page, secret: secret.is, secret_needed: isNeeded, ...(sample === undefined ? {} : { sample }) },
  ];
}

async function chooseAgent(host: CommandHost, params: JsonObject): Promise<Result<'setup.agent'>> {
  const asked = textOf(params, 'program');
  const known =
    knownPrograms.find(({ program }) => program === asked) ??
    refuse('params-missing', `program is one of ${knownPrograms.map(({ program }) => program).join(', ')}`);
  const file = await write(host, profileOf(params.profile), [
    { path: ['agent', 'runner'], value: 'command' },
    { path: ['agent', 'command'], value: known.command },
  ]);
  return { file, command: known.command };
}

async function chooseTarget(host: CommandHost, params: JsonObject): Promise<Result<'setup.target'>> {
  const asked = textOf(params, 'target');
  const target =
    simpleTargets.find((name) => name === asked) ??
    refuse('params-missing', `target is one of ${simpleTargets.join(', ')}; docs/deliveries.md has the others`);
  const token = textOf(params, 'token');
  const channel = optionalText(params, 'home_channel');
  const profile = profileOf(params.profile);
  let variable = '';
  const changed = await editHomeAndVariables({ home: host.source.home, profile }, ({ config, secrets }) => {
    variable = variableOfToken(target, token, { config, secrets, env: host.source.env });
    const edits: ConfigEdit[] = [
      { path: ['platforms', target, 'enabled'], value: true },
      { path: ['platforms', target, 'token'], value: `\${${variable}}` },
      ...(channel === undefined ? [] : [{ path: ['platforms', target, 'home_channel'], value: channel }]),
    ];
    return { kind: 'planned', edits: differing(config, edits), variables: [{ variable, value: token }] };
  });
  return { file: await written(host, profile, changed), variable };
}

/** A variable that only this token is in: what another reader has there must not be replaced. */
function variableOfToken(
  target: string,
  token: string,
  {
    config,
    secrets,
    env,
  }: {
    readonly config: JsonObject;
    readonly secrets: ReadonlyMap<string, string>;
    readonly env: Readonly<Record<string, string | undefined>>;
  },
): string {
  const path = ['platforms', target, 'token'];
  const others = new Set(variablesIn(withEdit(config, path, undefined) ?? {}));
  const own = new Set(variablesIn(valueIn(config, path) ?? '').filter((name) => !others.has(name)));
  return variableFor(`${target.toUpperCase()}_TOKEN`, token, {
    held: new Map([...secrets].filter(([name]) => !own.has(name))),
    env: Object.fromEntries(Object.entries(env).filter(([name]) => !own.has(name))),
    isReferred: (name) => others.has(name),
  });
}

/** The home has one listener for all profiles. */
async function enableWebhooks(host: CommandHost): Promise<Result<'setup.webhooks'>> {
  const file = await write(host, defaultProfile, [{ path: ['platforms', 'webhook', 'enabled'], value: true }]);
  return { file, url: addressOf(host, homeOf(host)) };
}

/** The address for senders, while the gateway listens. */
function addressOf({ daemon }: CommandHost, home: LoadedHome): string | null {
  const listener = daemon?.url();
  return listener === undefined ? null : publicBase(home, listener);
}

/** Writes the differences, and resolves once they are in force. */
async function write(host: CommandHost, profile: ProfileName, edits: readonly ConfigEdit[]): Promise<string> {
  const place = { home: host.source.home, profile };
  return written(host, profile, await editHome(place, (config) => differing(config, edits)));
}

function differing(config: JsonObject, edits: readonly ConfigEdit[]): readonly ConfigEdit[] {
  return edits.filter(({ path, value }) => JSON.stringify(valueIn(config, path)) !== JSON.stringify(value));
}

/** Resolves with the path of the file once what was written is in force. */
async function written(
  { source, daemon }: CommandHost,
  profile: ProfileName,
  changed: { readonly kind: string } | Unwritable,
): Promise<string> {
  if ('why' in changed) return refuse('config-unwritable', changed.why);
  await inForce(daemon?.reload());
  return profilePaths(source.home, profile).config;
}
