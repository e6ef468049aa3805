/**
 * Says what of a route is hardly meant (its name, an open brace, tools for events that anybody may send) or not there: a
 * cron job, a script, a list, a target that is not enabled or whose program is missing, what its target cannot do without.
 * Each is a warning and stops nothing, since what is missing may come later. What stands is lent; knows no file.
 * @see CFG-2, CFG-7, RTE-1, DIS-5 and DLV-2 in docs/specification.md
 */

import type { Json } from '../base/json.ts';
import { dynamicRoutePattern } from '../base/names.ts';
import type { ConfigPath } from './document.ts';
import type { ConditionSource, Route, RouteWithSecret } from './route.ts';
import type { EntryFinding } from './server-entry.ts';
import type { PlatformSettings, Settings } from './settings.ts';
import { canonicalTarget } from './targets.ts';

export type FileStanding = 'there' | 'missing' | 'outside';

/** What stands in the profile of a route. */
export interface RouteWorld {
  /** By the names of their targets. */
  readonly platforms: Settings['platforms'];
  /** Yes also where that cannot be told. */
  readonly hasJob: (ref: string) => boolean;
  /** The servers without a guard (TRU-1) of which the toolsets name a tool; toolsets are the agent room's business. */
  readonly fullServersOf: (toolsets: readonly string[]) => readonly string[];
  readonly script: (name: string) => FileStanding;
  /** Whether a command's name or path leads to a program that the profile may run. */
  readonly hasProgram: (command: string) => boolean;
  readonly list: (name: string) => FileStanding;
  /** The lists that conditions name, each at its place; conditions are the webhook room's business. */
  readonly listsOf: (
    filters: readonly ConditionSource[],
  ) => readonly { readonly path: ConfigPath; readonly file: string }[];
}

/** What a comment cannot do without, as payloads of the host have it. */
const githubExtras = [
  ['repo', '{repository.full_name}'],
  ['pr_number', '{number}'],
] as const;

/** A token of a template (TPL-1) without its end. */
const openToken = /\{[A-Za-z0-9_.]+(?=[^{}]*(?:\{|$))/;

/** Findings whose messages go on from the route's name. A route that is switched off leads nowhere on purpose. */
export function looseEnds({ route, secret }: RouteWithSecret, world: RouteWorld): readonly EntryFinding[] {
  if (!route.enabled) return [];
  return [
    ...looseName(route),
    ...looseBraces(route),
    ...(secret.kind === 'insecure' ? looseTools(route, world) : []),
    ...looseJob(route, world),
    ...looseScript(route, world),
    ...looseLists(route, world),
    ...looseTarget(route, world),
  ];
}

/** A subscription of that name could not stand in for the route. */
function looseName({ name, source }: Route): EntryFinding[] {
  if (source === 'dynamic' || dynamicRoutePattern.test(name)) return [];
  const message =
    'has a name that `agent webhook subscribe` refuses; write lower-case letters, digits, "-" and "_", beginning with a letter or digit';
  return [{ path: [], message, code: 'route-name' }];
}

/** What begins like a token and never ends is sent as it stands. */
function looseBraces({ prompt, deliverExtra }: Route): EntryFinding[] {
  const texts: readonly (readonly [ConfigPath, Json | undefined])[] = [
    [['prompt'], prompt],
    ...Object.entries(deliverExtra).map(([key, value]) => [['deliver_extra', key], value] as const),
  ];
  return texts.flatMap(([path, text]) => {
    const open = typeof text === 'string' ? openToken.exec(text)?.[0] : undefined;
    if (open === undefined) return [];
    const message = `has ${path.join('.')} with "${open}", which no brace closes; write "${open}}"`;
    return [{ path, message, code: 'template-open' }];
  });
}

/** Anyone who reaches the port then speaks to an agent whose calls need no approval. */
function looseTools({ toolsets = [] }: Route, { fullServersOf }: RouteWorld): EntryFinding[] {
  const [server] = fullServersOf(toolsets);
  if (server === undefined) return [];
  const message = `checks no signature and lends its runs tools of the server "${server}", which run without approval; give the route a secret, or set mcp_servers.${server}.trust: untrusted`;
  return [{ path: ['toolsets'], message, code: 'tools-unsigned' }];
}

function looseJob({ cronJob, profile }: Route, { hasJob }: RouteWorld): EntryFinding[] {
  if (cronJob === undefined || hasJob(cronJob)) return [];
  const message = `fires the cron job "${cronJob}", which profile "${profile}" does not have; \`agent cron list\` lists its jobs, \`agent cron add\` adds one`;
  return [{ path: ['cron_job'], message, code: 'cron-job-missing' }];
}

function looseScript({ script }: Route, world: RouteWorld): EntryFinding[] {
  const standing = script === undefined ? 'there' : world.script(script);
  if (standing === 'there') return [];
  const why =
    standing === 'missing'
      ? "which is not there; put it into scripts/ of the profile's home"
      : "which lies outside of scripts/ of the profile's home, and is not run; move it there";
  return [{ path: ['script'], message: `runs the script "${script}", ${why}`, code: 'script-missing' }];
}

function looseLists({ filters }: Route, { list, listsOf }: RouteWorld): EntryFinding[] {
  return listsOf(filters).flatMap(({ path, file }) => {
    const standing = list(file);
    if (standing === 'there') return [];
    const why =
      standing === 'missing' ? 'which is not there' : "which lies outside of the profile's home, and is not read";
    const message = `looks into the list "${file}", ${why}, so that nothing is in it; put it into the profile's home`;
    return [{ path: ['filters', ...path], message, code: 'list-missing' }];
  });
}

/** A cron job says itself where its outcome goes. */
function looseTarget({ cronJob, deliver, deliverExtra }: Route, { platforms, hasProgram }: RouteWorld): EntryFinding[] {
  const target = canonicalTarget(deliver);
  if (cronJob !== undefined || target === undefined || target === 'log') return [];
  const platform = platforms[target];
  const isUsual = target === 'github_comment' && platform === undefined;
  if (!isUsual && platform?.enabled !== true) {
    const message = `delivers to "${deliver}", which is not enabled; set platforms.${platform?.name ?? deliver}.enabled: true and its credentials`;
    return [{ path: ['deliver'], message, code: 'target-disabled' }];
  }
  if (target !== 'github_comment') return [];
  const client = clientOf(platform);
  const loose: EntryFinding[] = [];
  if (!hasProgram(client)) {
    const message = `delivers to "${deliver}", whose program "${client}" is not found or cannot be executed; install it and run \`${client} auth login\` as the gateway's user, or set platforms.${platform?.name ?? deliver}.command to its path`;
    loose.push({ path: ['deliver'], message, code: 'target-program-missing' });
  }
  const missing = githubExtras.filter(([name]) => isBlank(deliverExtra[name]));
  if (missing.length === 0) return loose;
  const names = missing.map(([name]) => `deliver_extra.${name}`).join(' and ');
  const cures = missing.map(([name, example]) => `${name}: "${example}"`).join(' and ');
  const message = `delivers to "${deliver}" without ${names}, and can comment on nothing; set ${cures}, or whatever names them in the payload`;
  return [...loose, { path: ['deliver'], message, code: 'deliver-extra-missing' }];
}

/** Returns the command that `github_comment` runs: the one of its entry, else `gh`. */
export function clientOf(github: PlatformSettings | undefined): string {
  const { command } = github?.options ?? {};
  return typeof command === 'string' ? command : 'gh';
}

function isBlank(value: Json | undefined): boolean {
  return value === undefined || value === null || (typeof value === 'string' && value.trim() === '');
}
