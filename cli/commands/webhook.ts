/** `agent webhook …`: routes and subscriptions. @see SUB-1 and SUB-4 in docs/specification.md */

import { isJsonObject, type Json, type JsonObject } from '../../machines/base/json.ts';
import { isLoopback } from '../../machines/base/loopback.ts';
import { defaultProfile, profileOption } from '../../machines/base/names.ts';
import { parseJson, readJson } from '../../machines/base/read-json.ts';
import { quotedWord, shellWord } from '../../machines/base/shell-word.ts';
import type { Source } from '../../machines/config/sources.ts';
import type { ProviderWords, RouteHeld, RouteRow } from '../../runtime/control/contract/routes.ts';
import type { Result } from '../../runtime/control/contract.ts';
import { connectGateway } from '../call.ts';
import {
  type CommandContext,
  changesOf,
  deliveryOf,
  type ExitCode,
  hasFlag,
  listFlag,
  refuse,
  routeChoice,
  strayChat,
  textFlag,
  textFlags,
  withHomeNamed,
} from '../context.ts';
import { counted } from '../labelled.ts';
import { secretOf } from '../setup/answers.ts';
import { bold, oneLine, plain, printJson, printJsonLine, show, table } from '../terminal.ts';

export async function subscribeWebhook(context: CommandContext): Promise<ExitCode> {
  const bound = textFlag(context, 'route-profile');
  const named = textFlag(context, 'profile');
  const profile = bound ?? named;
  const stray = strayChat(context);
  if (stray !== undefined) return refuse(context, stray, 2);
  const record = recordOf(context, await givenSecret(context));
  if (bound !== undefined && named !== undefined && bound !== named)
    return refuse(context, '--route-profile and --profile name two profiles; give one of them', 2);
  if (typeof record === 'string') return refuse(context, oneLine(record), 2);
  const name = context.args[0] ?? '';
  const asked = { name, record, force: hasFlag(context, 'force'), ...(profile === undefined ? {} : { profile }) };
  if (!hasFlag(context, 'wait')) {
    showCreated(context, await context.ask('webhook.subscribe', asked));
    return 0;
  }
  const client = await connectGateway(context.gateway);
  try {
    const route = { name, profile: profile ?? 'default' };
    const { rowsBefore, waitForEvent } = await import('./webhook-wait.ts');
    const known = await rowsBefore(client, route);
    showCreated(context, await client.ask('webhook.subscribe', asked));
    context.out.complain(`Waiting for the first event of ${oneLine(name)}; Ctrl-C ends only the waiting.\n`);
    await waitForEvent(context, client, route, known);
    return 0;
  } finally {
    client.close();
  }
}

function showCreated(context: CommandContext, created: Subscribed): void {
  const { out } = context;
  if (hasFlag(context, 'json')) (hasFlag(context, 'wait') ? printJsonLine : printJson)(context, created);
  else {
    const { name, url, provider, profile = 'default' } = created;
    // Behind `agent webhook test`, and behind `--route` too.
    const route = `${name}${profileOption(profile)}`;
    const words =
      provider === undefined ? anyoneWords(context, created, route) : providerWords(created, provider, route);
    out.print(withHomeNamed(context.gateway, `${bold(out, name)}\n  URL     ${url}\n${words}\n`));
    complainOf(context, created);
    const release = withHomeNamed(context.gateway, `\`agent webhook release ${route}\``);
    if (created.held === 'held') out.complain(`agent: ${oneLine(name)} is held: its runs wait until ${release}\n`);
  }
}

/** The route is written anyway: what it refers to may be added later. */
function complainOf({ out, gateway }: CommandContext, { name, problem }: RouteRow): void {
  if (problem !== undefined) out.complain(`agent: ${oneLine(name)} ${oneLine(withHomeNamed(gateway, problem))}\n`);
}

type Subscribed = Result<'webhook.subscribe'>;

function anyoneWords(
  context: CommandContext,
  { url, local_url: local, secret = '', events }: Subscribed,
  route: string,
): string {
  const test = `Try it: agent webhook test ${route}${eventFlag(events)}`;
  // By a scheme of the sender's own the printed curl command would be refused.
  const isDeclared = hasFlag(context, 'signature');
  const isInUrl = new URL(url).search !== '';
  if (isDeclared && (isInUrl || hasFlag(context, 'secret')))
    return `\n${isInUrl ? 'The address has the secret, and is shown once. ' : ''}Paste it at the sender.${reachWords(url)}\n\n${test}`;
  const shown = `  Secret  ${secret}\n\nThe secret is shown once. Paste both at the sender`;
  if (isDeclared) return `${shown}.${reachWords(url)}\n\n${test}`;
  return `${shown}:
  GitHub  Settings > Webhooks > Add webhook: Payload URL, Secret; content type application/json
  GitLab  Settings > Webhooks > Add new webhook: URL, Secret token
  others  by --source, or sign with X-Webhook-Signature-V2${reachWords(url)}

${test}, or
${curlOf(local ?? url, secret, events[0])}`;
}

/** A secret from the provider is not shown: the person has just entered it. */
function providerWords(
  { url, secret, verify_token: token, events }: Subscribed,
  provider: ProviderWords,
  route: string,
): string {
  const { title, page, typed, sent, setup, sample } = provider;
  const rows = [
    ...(typed ? [`  Secret  ${secret}\n          ${provider.secret}; it is shown once`] : []),
    ...(token === undefined
      ? []
      : [`  Token   ${token}\n          the verify token, typed beside the URL; it is shown once`]),
    ...(events.length === 0 ? [] : [`  Events  ${events.join(', ')}`]),
  ];
  const how = `agent webhook test ${route}${sample === undefined ? eventFlag(events) : ` --sample ${sample}`}`;
  if (setup !== undefined)
    return `
At ${title}: ${page}${reachWords(url)}

${setup}

Try it: ${how}`;
  return `${rows.map((row) => `${row}\n`).join('')}
Paste ${rows.length === 0 ? 'it' : 'them'} at ${title}: ${page}${reachWords(url)}${sent !== undefined && secret === undefined ? laterWords(route, title, sent) : ''}

Try it: ${how}`;
}

/** An event type that the route accepts. */
function eventFlag([event]: readonly string[]): string {
  return event === undefined ? '' : ` --event ${shellWord(event)}`;
}

function laterWords(route: string, title: string, sent: true | 'silently'): string {
  const typed =
    sent === 'silently'
      ? ''
      : `\nType the token in at ${title}: --wait prints it, and later \`agent events show latest --route ${route}\``;
  return `
The address is shown once. ${title} then sends its ${sent === 'silently' ? 'secret' : 'token'} there, which becomes the secret of the route.${typed}`;
}

/** The record of a subscription; a string is the usage error. */
function recordOf(context: CommandContext, secret: string | undefined): JsonObject | string {
  // A fresh one in its place would not be the sender's.
  if (secret === '') return 'a secret given as "-" must be a line of the standard input';
  const key = textFlag(context, 'coalesce');
  const window = textFlag(context, 'coalesce-window');
  const isBatch = hasFlag(context, 'coalesce-batch');
  if (key === undefined && (window !== undefined || isBatch))
    return '--coalesce-window and --coalesce-batch need --coalesce, which names what the events have in common';
  const conditions = listFlag(context, 'filter').map(conditionOf);
  if (conditions.some((one) => one === undefined))
    return `--filter must be field=value, or a condition as a JSON object such as '{"field": "action", "in": ["opened"]}'`;
  const signature = textFlag(context, 'signature');
  const declared = signature === undefined ? undefined : readJson(signature);
  if (signature !== undefined && !isJsonObject(declared))
    return `--signature must be a JSON object such as '{"header": "X-Signature", "prefix": "sha256="}'`;
  const events = textFlag(context, 'events')
    ?.split(',')
    .map((event) => event.trim())
    .filter(Boolean);
  const [cronJob, token] = [textFlag(context, 'cron-job'), textFlag(context, 'verify-token')];
  const coalesce = {
    key: key ?? '',
    ...(window === undefined ? {} : { window_seconds: Number(window) }),
    ...(isBatch ? { mode: 'batch' } : {}),
  };
  return {
    ...textFlags(context, 'source', 'prompt', 'script', 'description'),
    ...(declared === undefined ? {} : { signature: declared }),
    ...(secret === undefined ? {} : { secret }),
    ...(token === undefined ? {} : { verify_token: token }),
    ...(events === undefined ? {} : { events }),
    ...(conditions.length === 0 ? {} : { filters: conditions as Json[] }),
    ...(key === undefined ? {} : { coalesce }),
    ...deliveryOf(context),
    ...(hasFlag(context, 'deliver-only') ? { deliver_only: true } : {}),
    ...(cronJob === undefined ? {} : { cron_job: cronJob }),
  };
}

/** `-` reads it from the input: every user of the machine can read a process's arguments. */
async function givenSecret(context: CommandContext): Promise<string | undefined> {
  const given = textFlag(context, 'secret');
  if (given !== '-') return given;
  const { inputLines } = await import('./setup.ts');
  return (await inputLines(1, context.out))[0] ?? '';
}

/**
 * A condition as JSON, or `field=value` with numbers, true and false as such; undefined if it is neither. `field==value` is a
 * comparison of other languages, and would wait for `=value`.
 */
function conditionOf(text: string): JsonObject | undefined {
  const read = readJson(text);
  if (isJsonObject(read)) return read;
  const [, field, value = ''] = /^([\w.-]+)=(?!=)(.*)$/.exec(text) ?? [];
  if (field === undefined) return undefined;
  const scalar = readJson(value);
  return { field, equals: typeof scalar === 'number' || typeof scalar === 'boolean' ? scalar : value };
}

function reachWords(url: string): string {
  const { hostname } = new URL(url);
  const isLocal = isLoopback(hostname) || hostname === '0.0.0.0' || hostname === '[::]';
  return isLocal
    ? '\nOnly this machine reaches that URL. For other senders set platforms.webhook.extra.public_url to the address of a proxy\nor a tunnel: docs/receive-github-events.md'
    : '';
}

/** Signs in the shell, because a signature is valid for five minutes (SIG-1). */
function curlOf(url: string, secret: string, event: string | undefined): string {
  const body = JSON.stringify({ ...(event === undefined ? {} : { event_type: event }), test: true });
  return `  SECRET=${quotedWord(secret)} BODY=${quotedWord(body)} TIME=$(date +%s)
  curl -sS ${quotedWord(url)} -H 'content-type: application/json' -H "x-webhook-timestamp: $TIME" \\
    -H "x-webhook-signature-v2: $(printf %s "$TIME.$BODY" | openssl dgst -sha256 -hmac "$SECRET" -r | cut -d' ' -f1)" \\
    -d "$BODY"`;
}

/** The provider that will send to a route, if one is named; a string is why no secret can be made for the sender. */
async function senderOf(context: CommandContext, changes: JsonObject): Promise<Source | string | undefined> {
  const { isAsymmetric, sourceOf } = await import('../../machines/config/sources.ts');
  const { definition } = await context.ask('webhook.show', routeChoice(context));
  const { source = definition.sender, signature = definition.signature } = changes;
  const sender = sourceOf(String(source));
  if (sender !== undefined && sender.secret.typed !== true)
    return `${sender.title} makes the secret: ${sender.secret.is}; give it with --secret -`;
  const { algorithm } = (signature ?? {}) as JsonObject;
  return isAsymmetric(algorithm)
    ? `the secret of ${algorithm} is the sender’s public key; give it with --secret -`
    : sender;
}

/** Changes only the named keys of a subscription. */
export async function editWebhook(context: CommandContext): Promise<ExitCode> {
  const stray = strayChat(context);
  if (stray !== undefined) return refuse(context, stray, 2);
  const given = await givenSecret(context);
  const secret = given === undefined ? undefined : secretOf(given);
  const record = recordOf(context, secret);
  if (typeof record === 'string') return refuse(context, oneLine(record), 2);
  const changed = changesOf(context, record);
  if (typeof changed === 'string') return refuse(context, changed, 2);
  const changes: JsonObject = { ...('source' in record ? { signature: null } : {}), ...changed };
  const [isKept, isDropped] = [hasFlag(context, 'keep-secret'), hasFlag(context, 'drop-older-secret')];
  if (isKept && (secret === undefined || isDropped))
    return refuse(context, '--keep-secret keeps the earlier secret beside that of --secret', 2);
  if (Object.keys(changes).length === 0 && !isDropped)
    return refuse(context, 'name what is to change, such as --prompt, --secret generate or --unset <key>', 2);
  const sender = given === 'generate' ? await senderOf(context, changes) : undefined;
  if (typeof sender === 'string') return refuse(context, sender, 1);
  const older = isKept ? { older_secret: 'keep' as const } : isDropped ? { older_secret: 'drop' as const } : {};
  const edited = await context.ask('webhook.edit', { ...routeChoice(context), record: changes, ...older });
  context.out.print(`Changed ${oneLine(edited.name)}.\n`);
  if (given === 'generate') {
    const what = sender === undefined ? '' : `          ${sender.secret.is}\n`;
    const until = isKept ? '' : ', whose requests get 401 until then';
    context.out.print(`  Secret  ${secret}\n${what}It is shown once. Enter it at the sender${until}.\n`);
  }
  if (isKept) {
    const route = `${shellWord(oneLine(edited.name))}${profileOption(edited.profile ?? defaultProfile)}`;
    const how = withHomeNamed(context.gateway, `\`agent webhook edit ${route} --drop-older-secret\` ends that`);
    context.out.print(`The earlier secret verifies too; ${how}.\n`);
  }
  if (typeof changes.source === 'string' && secret === undefined) {
    const { sourceOf } = await import('../../machines/config/sources.ts');
    const source = sourceOf(changes.source);
    if (source !== undefined && source.secret.typed !== true)
      context.out.print(`The secret is as before; ${source.title} signs with ${source.secret.is}.\n`);
  }
  complainOf(context, edited);
  return 0;
}

export async function listWebhooks(context: CommandContext): Promise<ExitCode> {
  const rows = await context.ask('webhook.list', { brief: !hasFlag(context, 'json') });
  const switched = rows.some(({ enabled, held }) => enabled === false || held !== undefined);
  const head = ['NAME', ...(switched ? ['STATE'] : []), 'EVENTS', 'DELIVER', 'URL', 'PROBLEM'];
  const cells = (row: RouteRow): string[] => [
    row.name,
    ...(switched ? [stateOf(row)] : []),
    row.events.join(',') || 'all',
    row.deliver,
    row.url,
    withHomeNamed(context.gateway, row.problem ?? ''),
  ];
  return show(context, rows, () =>
    rows.length === 0
      ? withHomeNamed(
          context.gateway,
          'No routes. Create one: agent webhook subscribe <name>, or write it into config.yaml.\n',
        )
      : table(context.out, head, rows.map(cells)),
  );
}

/** An unusable route has no state. */
function stateOf({ enabled, held }: RouteRow): string {
  if (enabled === undefined) return '';
  return held === undefined ? (enabled ? 'enabled' : 'disabled') : 'held';
}

export async function removeWebhook(context: CommandContext): Promise<ExitCode> {
  const { removed } = await context.ask('webhook.remove', routeChoice(context));
  context.out.print(`Removed ${oneLine(removed)}.\n`);
  return 0;
}

/** Shows any answer; only a 2xx is a success. */
export async function testWebhook(context: CommandContext): Promise<ExitCode> {
  const payload = textFlag(context, 'payload');
  if (payload !== undefined && parseJson(payload) === undefined) return refuse(context, '--payload is not JSON', 2);
  const answer = await context.ask('webhook.test', {
    ...routeChoice(context),
    ...textFlags(context, 'payload', 'sample', 'event'),
    ...(hasFlag(context, 'checks-only') ? { checks_only: true } : {}),
  });
  const { status, body, note } = answer;
  show(context, answer, () => `HTTP ${status}\n${plain(body)}\n${note === undefined ? '' : `${note}\n`}`);
  const isRecorded = (status < 200 || status > 299) && !hasFlag(context, 'checks-only');
  if (isRecorded) {
    const words = `${shellWord(context.args[0] ?? '')}${profileOption(textFlag(context, 'profile') ?? defaultProfile)}`;
    context.out.complain(
      `agent: ${withHomeNamed(context.gateway, `\`agent events --route ${words}\` has the reason`)}\n`,
    );
  }
  return status >= 200 && status < 300 ? 0 : 1;
}

export async function disableWebhook(context: CommandContext): Promise<ExitCode> {
  const { name } = await context.ask('webhook.disable', routeChoice(context));
  const words = `${shellWord(oneLine(name))}${profileOption(textFlag(context, 'profile') ?? defaultProfile)}`;
  const undone = withHomeNamed(context.gateway, `\`agent webhook enable ${words}\` enables it`);
  context.out.print(`Disabled ${oneLine(name)}; its senders get 403. ${undone}.\n`);
  return 0;
}

export async function enableWebhook(context: CommandContext): Promise<ExitCode> {
  const { name } = await context.ask('webhook.enable', routeChoice(context));
  context.out.print(`Enabled ${oneLine(name)}.\n`);
  return 0;
}

export const holdWebhook = holding('webhook.hold', ({ unchanged, disabled, waiting = 0 }, name, release) => {
  const runs = waiting === 0 ? '' : ` ${counted(waiting, 'run')} ${waiting === 1 ? 'waits' : 'wait'} now.`;
  return unchanged
    ? `${name} is held already; \`${release}\` releases it.${runs}`
    : `Held ${name}: ${disabled ? '' : 'its events are accepted, and '}its runs wait until \`${release}\`.${runs}`;
});

export const releaseWebhook = holding('webhook.release', ({ unchanged, waiting = 0, held_by: by }, name) => {
  if (unchanged) return `${name} is not held.`;
  if (waiting === 0 || by !== undefined) return `Released ${name}.`;
  return `Released ${name}: ${counted(waiting, 'run')} that waited ${waiting === 1 ? 'begins' : 'begin'} as slots become free.`;
});

function holding(
  method: 'webhook.hold' | 'webhook.release',
  words: (held: RouteHeld, name: string, release: string) => string,
) {
  return async (context: CommandContext): Promise<ExitCode> => {
    const held = await context.ask(method, routeChoice(context));
    const { profile, held_by: by, not_in_force: why } = held;
    const name = oneLine(held.name);
    const release = `agent webhook release ${shellWord(name)}${profileOption(profile)}`;
    const enable = `\`agent webhook enable ${shellWord(name)}${profileOption(profile)}\``;
    const off = held.disabled ? ` It is disabled: its senders get 403 until ${enable}.` : '';
    show(context, held, () => `${withHomeNamed(context.gateway, words(held, name, release) + off)}\n`);
    if (why !== undefined) return refuse(context, `the change is written and not in force: ${oneLine(why)}`, 1);
    return by === undefined ? 0 : refuse(context, `its runs still wait, held by ${by}, which is 0; raise it there`, 1);
  };
}
