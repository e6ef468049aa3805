/**
 * Warns about parts of a route that are probably not meant (its name, an open brace, tools for unsigned events), missing (a
 * cron job, script, list, target, program or a setting that the target needs) or without effect. A warning stops nothing,
 * because what is missing may be added later. The caller passes in what exists in the profile.
 * @see CFG-2, CFG-7, RTE-1, DIS-4, DIS-5 and DLV-2 in docs/specification.md
 */

import { isJsonObject, type Json, type JsonObject, scalarText } from '../base/json.ts';
import { dynamicRoutePattern } from '../base/names.ts';
import type { EntryFinding } from './diagnostic.ts';
import type { ConfigPath } from './document.ts';
import { textsIn } from './interpolate.ts';
import { meantOr } from './nearest.ts';
import { noticePlace } from './notice-place.ts';
import { githubClient, isBlank } from './platform-settings.ts';
import { unlistedEvents } from './read-route.ts';
import { doubtfulSecret } from './read-signature.ts';
import {
  type ConditionSource,
  deliveriesOf,
  type Route,
  type RouteSecret,
  type RouteWithSecret,
  textsOfSecret,
} from './route.ts';
import type { PlatformSettings, Settings } from './settings.ts';
import { sourceOf } from './sources.ts';
import { canonicalTarget, targets } from './targets.ts';

export type FileStanding = 'there' | 'missing' | 'outside';

/** What exists in a route's profile. */
export interface RouteWorld {
  /** Keyed by target name. */
  readonly platforms: Settings['platforms'];
  /** True also if the jobs cannot be read. */
  readonly hasJob: (ref: string) => boolean;
  /** The servers without approval (TRU-1) of which the toolsets name a tool; injected: machines/agent/ reads toolsets. */
  readonly fullServersOf: (toolsets: readonly string[]) => readonly string[];
  /** The names that `toolsets` may list, and those of a list that mean nothing. */
  readonly toolsetNames: readonly string[];
  readonly unknownToolsets: (toolsets: readonly string[]) => readonly string[];
  /** Those of a list that no webhook run may use. */
  readonly restrictedToolsets: (toolsets: readonly string[]) => readonly string[];
  readonly script: (name: string) => FileStanding;
  readonly hasSkill: (name: string) => boolean;
  /** Whether a command's name or path is a program that the profile may run. */
  readonly hasProgram: (command: string) => boolean;
  readonly list: (name: string) => FileStanding | 'broken';
  /** The lists that conditions name, with their paths; injected, because machines/webhook/ reads conditions. */
  readonly listsOf: (
    filters: readonly ConditionSource[],
  ) => readonly { readonly path: ConfigPath; readonly file: string }[];
}

/** What a comment needs, with the templates for GitHub's payloads. */
const githubExtras = [
  ['repo', '{repository.full_name}'],
  ['pr_number', '{number}'],
] as const;

/**
 * Events that a delivery itself causes, with the condition that leaves them out. The events of a bot's own messages are not
 * sent by the other platforms.
 */
const echoes: Readonly<Record<string, readonly [sources: string, events: readonly string[], condition: string]>> = {
  github_comment: ['github', ['issue_comment'], '{ field: sender.login, not_equals: … }'],
  gitlab_comment: ['gitlab', ['note', 'Note Hook'], '{ field: user.username, not_equals: … }'],
  gitea_comment: ['gitea', ['issue_comment', 'pull_request_comment'], '{ field: sender.login, not_equals: … }'],
  linear: ['linear', ['Comment'], '{ field: actor.id, not_equals: … }'],
  jira: ['jira', ['comment_created'], '{ field: comment.author.accountId, not_equals: … }'],
  sentry: ['sentry', ['comment.created'], '{ field: actor.id, not_equals: … }'],
  pagerduty: ['pagerduty', ['incident.annotated'], '{ field: event.agent.id, not_equals: … }'],
  slack: ['slack', ['message'], '{ field: event.bot_id, missing: true }'],
};
/** Fields that do not distinguish authors or texts: an event that a delivery causes passes conditions on them too. */
const echoed = /^(?:headers\..*|event|event_type|object_kind|webhookEvent|event\.(?:type|event_type))$/;
/** Fields of the place, which is also that of the delivery where it is filled in from the event. */
const echoedPlace = /^(?:event\.channel.*|repository\..*|project\..*|team\..*)$/;

/** The field with what their lists and libraries write behind the type's dot, as in `pull_request.opened`, by source. */
const actionFields: Readonly<Record<string, string>> = {
  github: 'action',
  gitea: 'action',
  linear: 'action',
  gitlab: 'object_attributes.action',
  slack: 'event.channel_type',
};
/** Types by which a route without a source is one for GitHub. */
const githubType =
  /^(?:issues|issue_comment|pull_request(?:_review(?:_comment)?)?|(?:check|workflow)_(?:run|suite|job))$/;

/** What is no token of a template (TPL-1) and is sent as text, with what to do; the first that occurs is reported. */
const strayTokens: readonly (readonly [code: string, form: RegExp, cure: (found: string) => string])[] = [
  [
    'template-double',
    /\{\{\s*[A-Za-z0-9_.]+\s*\}\}/,
    (found) => `whose braces are doubled; write "{${found.replace(/[{}\s]/g, '')}}"`,
  ],
  ['template-open', /\{[A-Za-z0-9_.]+(?=[^{}]*(?:\{|$))/, (found) => `which no brace closes; write "${found}}"`],
  [
    'template-index',
    /\{[A-Za-z0-9_.]+(?:\[\d+\][A-Za-z0-9_.]*)+\}/,
    (found) => `which stays as it is; write "${dotted(found)}"`,
  ],
  [
    'template-hyphen',
    /\{[A-Za-z0-9_.]+-[A-Za-z0-9_.-]*\}/,
    () => 'which stays as it is: a token has letters, digits, "_" and "."; let a script rename the field',
  ],
];

/** Findings whose messages continue from the route's name. A disabled route is not checked. */
export function looseEnds({ route, secret }: RouteWithSecret, world: RouteWorld): readonly EntryFinding[] {
  if (!route.enabled) return [];
  return [
    ...looseName(route),
    ...looseBraces(route),
    ...looseActions(route),
    ...looseToolsets(route, world),
    ...(secret.kind === 'insecure' ? looseTools(route, world) : []),
    ...(route.source === 'dynamic' ? [...looseSecret(route, secret), ...looseEvents(route)] : []),
    ...looseJob(route, world),
    ...looseScript(route, world),
    ...looseSkills(route, world),
    ...looseFields(route),
    ...looseWindow(route),
    ...looseConcurrency(route),
    ...looseLists(route, world),
    ...looseTarget(route, world),
    ...looseNotice(route, world),
    ...looseExtras(route),
    ...looseEcho(route),
  ];
}

/** A subscription of that name could not replace the route. */
function looseName({ name, source }: Route): EntryFinding[] {
  if (source === 'dynamic' || dynamicRoutePattern.test(name)) return [];
  const message =
    'has a name that `agent webhook subscribe` refuses; write lower-case letters, digits, "-" and "_", beginning with a letter or digit';
  return [{ path: [], message, code: 'route-name' }];
}

/** For a route of config.yaml it is a finding of the secret's own line, even if the route has errors. */
function looseSecret(route: Route, secret: RouteSecret): EntryFinding[] {
  const [first] = textsOfSecret(secret).flatMap((text) => doubtfulSecret(text, route) ?? []);
  return first === undefined ? [] : [{ path: ['secret'], message: first.why, code: 'secret-strange' }];
}

/** The same is true of this one. */
function looseEvents({ sender, events }: Route): EntryFinding[] {
  if (sourceOf(sender)?.sendsBodyTwice !== true || events.length > 0) return [];
  return [{ path: ['source'], message: unlistedEvents, code: 'events-unlisted' }];
}

/** Extras are templates at any depth (TPL-2). */
function looseBraces({ prompt = '', deliverExtra, deliverTo, onFailureExtra = {} }: Route): EntryFinding[] {
  return [
    ...openIn(prompt, ['prompt']),
    ...(deliverTo === undefined ? openIn(deliverExtra, ['deliver_extra']) : []),
    ...(deliverTo ?? []).flatMap(({ extra, text = '' }, index) => [
      ...openIn(extra, ['deliver', index, 'extra']),
      ...openIn(text, ['deliver', index, 'text']),
    ]),
    ...openIn(onFailureExtra, ['on_failure_extra']),
  ];
}

function openIn(held: Json, at: ConfigPath): EntryFinding[] {
  return textsIn(held, at).flatMap(({ path, text }) => {
    for (const [code, form, cure] of strayTokens) {
      const [found] = form.exec(text) ?? [];
      if (found !== undefined) {
        return [{ path, message: `has ${path.join('.')} with "${found}", ${cure(found)}`, code }];
      }
    }
    return [];
  });
}

/** An event by a name that its provider never sends as the type: all are ignored, and the provider sees a 200. */
function looseActions({ sender, signature, events }: Route): EntryFinding[] {
  return events.flatMap((event, index) => {
    const [type = '', action] = event.split('.');
    const source = sender ?? (signature === undefined && githubType.test(type) ? 'github' : '');
    const field = actionFields[source];
    if (action === undefined || field === undefined) return [];
    // A command of Slack, such as `/deploy.eu`, may have a dot; `message.channels` has `channel` there.
    if (source === 'slack' && type !== 'message') return [];
    const value = source === 'slack' ? action.replace(/s$/, '') : action;
    const filter =
      value === '*' ? '' : ` and, on a route for it alone, the filter { field: ${field}, equals: ${value} }`;
    const message = `lists the event "${event}", whose type is "${type}" as ${sourceOf(source)?.title} sends it, so that none matches; write "${type}"${filter}`;
    return [{ path: ['events', index], message, code: 'event-action' }];
  });
}

function looseToolsets({ toolsets = [] }: Route, world: RouteWorld): EntryFinding[] {
  const { toolsetNames, unknownToolsets, restrictedToolsets } = world;
  const finding = (name: string, why: string, code: string): EntryFinding => {
    const message = `lists the toolset "${name}", which ${why}`;
    return { path: ['toolsets', toolsets.indexOf(name)], message, code };
  };
  return [
    ...unknownToolsets(toolsets).map((name) => {
      const cure = meantOr(name, toolsetNames, `known are ${toolsetNames.join(', ')}`);
      return finding(name, `does not exist; ${cure}`, 'toolset-unknown');
    }),
    ...restrictedToolsets(toolsets).map((name) =>
      finding(name, 'no webhook run may use; drop it, or let a program of agent.command do that', 'toolset-restricted'),
    ),
  ];
}

/** Otherwise anyone who reaches the port could use an agent whose calls need no approval. */
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

function looseSkills({ skills }: Route, { hasSkill }: RouteWorld): EntryFinding[] {
  const message = missingSkills(skills, hasSkill);
  return message === undefined ? [] : [{ path: ['skills'], message, code: 'skill-missing' }];
}

/** Says that none of the skills exists, of which the first is loaded (DIS-6); undefined if one does, or none is named. */
export function missingSkills(skills: readonly string[], hasSkill: (name: string) => boolean): string | undefined {
  if (skills.length === 0 || skills.some(hasSkill)) return undefined;
  const [noun, gone] = skills.length === 1 ? ['skill', 'which does not exist'] : ['skills', 'none of which exists'];
  return `names the ${noun} ${skills.join(', ')}, ${gone}; put it into skills/<name>/SKILL.md of the profile's home`;
}

/** A field in the syntax of a template or of JSONPath is read as a name, which hardly any payload has. */
function looseFields(route: Route): EntryFinding[] {
  const { coalesce, deliveryIdAt, signature } = route;
  // An id that the signature covers refuses the request where it is missing, so it needs no warning.
  const isOwn = deliveryIdAt !== undefined && 'field' in deliveryIdAt && deliveryIdAt !== signature?.id;
  const key = coalesce === undefined || coalesce.key.includes('{') ? '' : coalesce.key;
  return [
    ...conditionsOf(route).flatMap(({ conditions, path }) => fieldsIn(conditions, path)),
    ...fieldAt(key, ['coalesce', 'key']),
    ...(isOwn ? fieldAt(deliveryIdAt.field, ['delivery_id', 'field']) : []),
  ];
}

/** The conditions of a route and of its entries in `deliver`. */
function conditionsOf({ filters, deliverTo = [] }: Route) {
  return [
    { conditions: filters, path: ['filters'] },
    ...deliverTo.map(({ when }, index) => ({ conditions: when, path: ['deliver', index, 'when'] })),
  ];
}

/** The quiet window restarts with each event, so it is longer than the longest wait only by mistake. */
function looseWindow({ coalesce }: Route): EntryFinding[] {
  if (coalesce === undefined || coalesce.windowMs <= coalesce.maxWaitMs) return [];
  const [window, max] = [coalesce.windowMs / 1_000, coalesce.maxWaitMs / 1_000];
  const message = `has coalesce.window_seconds ${window} above max_wait_seconds ${max}, after which each batch ends; raise max_wait_seconds`;
  return [{ path: ['coalesce'], message, code: 'coalesce-window' }];
}

/** A limit or a hold of runs, of which there are none: a person believes the deliveries to be held (DIS-3). */
function looseConcurrency(route: Route): EntryFinding[] {
  if (!route.deliverOnly) return [];
  return (['concurrency', 'held'] as const).flatMap((key) => {
    if (route[key] === undefined) return [];
    const message = `sets ${key}, which has no effect with deliver_only, since no agent runs; drop one of them`;
    return [{ path: [key], message, code: 'concurrency-unused' }];
  });
}

function fieldsIn(held: Json, path: ConfigPath): EntryFinding[] {
  if (Array.isArray(held)) return held.flatMap((one, index) => fieldsIn(one, [...path, index]));
  if (!isJsonObject(held)) return [];
  if (typeof held.field === 'string') return fieldAt(held.field, [...path, 'field']);
  return Object.entries(held).flatMap(([group, inner]) => fieldsIn(inner, [...path, group]));
}

function fieldAt(field: string, path: ConfigPath): EntryFinding[] {
  const isOfAll = /(?:^|\.)\*(?:\.|$)|\[\*?\]/.test(field);
  if (!isOfAll && !/^\{.+\}$|^\$\.|\[\d+\]/.test(field)) return [];
  // A form may have such a name, for example `items[0]` or `items[]`.
  const unless = /^[{$]|\*/.test(field) ? '' : ', unless the payload is a form that has it';
  const cure = isOfAll
    ? 'let a script look at all items of a list'
    : `write "${dotted(field.replace(/^\{|\}$|^\$\./g, ''))}"`;
  return [{ path, message: `reads the field "${field}" as one name; ${cure}${unless}`, code: 'field-syntax' }];
}

/** `labels[0].name` as `labels.0.name`. */
function dotted(path: string): string {
  return path.replace(/\[(\d+)\]/g, '.$1');
}

function looseLists(route: Route, { list, listsOf }: RouteWorld): EntryFinding[] {
  const named = conditionsOf(route).flatMap(({ conditions, path: at }) =>
    listsOf(conditions).map(({ path, file }) => ({ path: [...at, ...path], file })),
  );
  return named.flatMap(({ path, file }) => {
    const standing = list(file);
    if (standing === 'there') return [];
    if (standing === 'broken') {
      const message = `looks into the list "${file}", which is JSON with a syntax error, so that its events are answered 503; correct it, or write a value per line`;
      return [{ path, message, code: 'list-broken' }];
    }
    const why =
      standing === 'missing' ? 'which is not there' : "which lies outside of the profile's home, and is not read";
    const message = `looks into the list "${file}", ${why}, so that nothing is in it; put it into the profile's home`;
    return [{ path, message, code: 'list-missing' }];
  });
}

/** A cron job has its own delivery settings. */
function looseTarget(route: Route, world: RouteWorld): EntryFinding[] {
  if (route.cronJob !== undefined) return [];
  return deliveriesOf(route).flatMap(({ to, extra }, index) => {
    const isEntry = route.deliverTo !== undefined;
    const path = isEntry ? ['deliver', index, 'to'] : ['deliver'];
    const extraName = isEntry ? 'extra' : 'deliver_extra';
    return looseAt({ target: to, extra, path, extraName, use: `delivers to "${to}"` }, world);
  });
}

/** A comment or message that is an event of the route too, and so starts it again, without end. */
function looseEcho(route: Route): EntryFinding[] {
  const { events, filters, script, sender, cronJob, deliverTo } = route;
  if (script !== undefined || cronJob !== undefined) return [];
  return deliveriesOf(route).flatMap(({ to, extra, when }, index) => {
    const [source, caused, condition] = echoes[canonicalTarget(to) ?? ''] ?? ['', [], ''];
    // Another provider may have an event of that name.
    if (sender !== undefined && sender !== source) return [];
    const leaves = leavesOf([...filters, ...when]);
    const listed = caused.find((event) => events.includes(event));
    // Where all events are taken, any filter may leave those out.
    const isOpen = events.length === 0 && sender === source && leaves.length === 0;
    if (!isOpen && (listed === undefined || leaves.some((leaf) => !isPassedByEcho(leaf, extra)))) return [];
    const message = `delivers to "${to}" what is an event of the route again (${listed ?? caused[0]}), so that it answers itself without end; filter its own account out, as by ${condition}`;
    return [{ path: deliverTo === undefined ? ['deliver'] : ['deliver', index, 'to'], message, code: 'deliver-echo' }];
  });
}

function leavesOf(held: Json): readonly ConditionSource[] {
  if (Array.isArray(held)) return held.flatMap(leavesOf);
  if (!isJsonObject(held)) return [];
  return typeof held.field === 'string' ? [held] : Object.values(held).flatMap(leavesOf);
}

function isPassedByEcho({ field, ...condition }: ConditionSource, extra: JsonObject): boolean {
  const name = String(field);
  const values = [condition.equals, condition.in].flat().filter((value) => typeof value === 'string');
  if (name === 'action') return values.length === 0 || values.includes('created') || values.includes('create');
  const places = [extra.chat_id, extra.repo, extra.project].filter((place) => typeof place === 'string');
  if (echoedPlace.test(name)) return places.some((place) => place.includes('{') || values.includes(place));
  return echoed.test(name);
}

/** Only a run of the route itself is reported to its `on_failure` (DIS-4). */
function looseNotice(route: Route, world: RouteWorld): EntryFinding[] {
  const { onFailure, onFailureExtra, cronJob, deliverOnly } = route;
  const unused = (key: string, why: string): EntryFinding[] => [
    { path: [key], message: `sets ${key}, which has no effect ${why}`, code: 'on-failure-unused' },
  ];
  const place = noticePlace(route);
  if (onFailure === undefined || place === undefined) {
    return onFailureExtra === undefined ? [] : unused('on_failure_extra', 'without on_failure; name a target there');
  }
  if (deliverOnly) return unused('on_failure', 'with deliver_only, since no agent runs; drop one of them');
  if (cronJob !== undefined) {
    return unused('on_failure', `on a route that fires a cron job; set on_failure on the job "${cronJob}" instead`);
  }
  const use = `notifies "${onFailure}" of failed runs`;
  return looseAt({ ...place, path: ['on_failure'], extraName: 'on_failure_extra', use }, world);
}

/** A key that the target does not read: the text would go to the home channel, or outside of its thread. */
function looseExtras(route: Route): EntryFinding[] {
  const { onFailure, onFailureExtra = {}, deliverTo, cronJob } = route;
  const deliveries = cronJob === undefined ? deliveriesOf(route) : [];
  const held: readonly (readonly [target: string, extra: JsonObject, path: ConfigPath])[] = [
    ...deliveries.map(({ to, extra }, index) => {
      return [to, extra, deliverTo === undefined ? ['deliver_extra'] : ['deliver', index, 'extra']] as const;
    }),
    ...(onFailure === undefined ? [] : [[onFailure, onFailureExtra, ['on_failure_extra']] as const]),
  ];
  return held.flatMap(([target, extra, path]) => {
    const known = targets.get(canonicalTarget(target) ?? '')?.extras;
    if (known === undefined) return [];
    return Object.keys(extra).flatMap((key) => {
      if (known.includes(key)) return [];
      const reads = known.length === 0 ? 'it reads none; drop the key' : `it reads ${known.join(', ')}`;
      const message = `has ${[...path, key].join('.')}, which "${target}" does not read; ${meantOr(key, known, reads)}`;
      return [{ path: [...path, key], message, code: 'deliver-extra-unknown' }];
    });
  });
}

interface Named {
  readonly target: string;
  readonly extra: JsonObject;
  /** Where the target is named. */
  readonly path: ConfigPath;
  /** The key of its settings. */
  readonly extraName: string;
  /** What the route uses it for, as the predicate of a sentence about the route. */
  readonly use: string;
}

/** Says that a known target is not enabled, continuing from `use`; undefined if it is, or needs no entry. */
export function disabledTarget(name: string, use: string, platforms: Settings['platforms']): string | undefined {
  const target = canonicalTarget(name);
  if (target === undefined || target === 'log') return undefined;
  const platform = platforms[target];
  if (platform?.enabled === true || (target === 'github_comment' && platform === undefined)) return undefined;
  return `${use}, which is not enabled; set platforms.${platform?.name ?? name}.enabled: true and its credentials`;
}

function looseAt(named: Named, { platforms, hasProgram }: RouteWorld): EntryFinding[] {
  const target = canonicalTarget(named.target);
  if (target === undefined || target === 'log') return [];
  const disabled = disabledTarget(named.target, named.use, platforms);
  if (disabled !== undefined) return [{ path: named.path, message: disabled, code: 'target-disabled' }];
  const platform = platforms[target];
  if (target !== 'github_comment') return looseChat(named, target, platform?.homeChannel);
  return [...looseProgram(named, platform, hasProgram), ...looseComment(named)];
}

/** A place in which the target can deliver nothing. */
function looseChat({ extra, path, extraName, use }: Named, target: string, homeChannel = ''): EntryFinding[] {
  const place = targets.get(target)?.place;
  // A thread of Discord is a place of its own, and a template is filled in later.
  const key = target === 'discord' && !isBlank(extra.thread_id) ? 'thread_id' : 'chat_id';
  const isOwn = !isBlank(extra[key]);
  const chat = isOwn ? scalarText(extra[key]) : homeChannel;
  if (place === undefined || chat === '' || chat.includes('{') || place.form.test(chat.trim())) return [];
  const where = isOwn ? `with ${key} "${chat}"` : `whose home_channel is "${chat}"`;
  const message = `${use} ${where}, where nothing can be delivered; write ${place.is}`;
  return [{ path: isOwn ? [...path.slice(0, -1), extraName, key] : path, message, code: 'deliver-place' }];
}

function looseProgram(
  { target, path, use }: Named,
  github: PlatformSettings | undefined,
  hasProgram: RouteWorld['hasProgram'],
): EntryFinding[] {
  const client = clientOf(github);
  if (hasProgram(client)) return [];
  const message = `${use}, whose program "${client}" is not in the gateway's PATH or cannot be executed; install it and run \`${client} auth login\` as the gateway's user, or set platforms.${github?.name ?? target}.command to its path`;
  return [{ path, message, code: 'target-program-missing' }];
}

function looseComment({ extra, path, extraName, use }: Named): EntryFinding[] {
  const missing = githubExtras.filter(([key]) => isBlank(extra[key]));
  if (missing.length === 0) return [];
  const names = missing.map(([key]) => `${extraName}.${key}`).join(' and ');
  const cures = missing.map(([key, example]) => `${key}: "${example}"`).join(' and ');
  const message = `${use} without ${names}, and can comment on nothing; set ${cures}, or whatever names them in the payload`;
  return [{ path, message, code: 'deliver-extra-missing' }];
}

/** Returns the command that `github_comment` runs: the configured one, else `gh`. */
export function clientOf(github: PlatformSettings | undefined): string {
  const { command } = github?.options ?? {};
  return typeof command === 'string' ? command : githubClient;
}
