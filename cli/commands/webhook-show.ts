/**
 * `agent webhook show` and `doctor`: describe one route without its secret, and why its last requests were refused.
 * @see CLI-5, RTE-1 and SRC-5 in docs/specification.md
 */

import type { Json, JsonObject } from '../../machines/base/json.ts';
import { defaultProfile, profileOption } from '../../machines/base/names.ts';
import { shellWord } from '../../machines/base/shell-word.ts';
import type { RouteDetail } from '../../runtime/control/contract/routes.ts';
import { agentOf, type CommandContext, type ExitCode, routeChoice, withHomeNamed } from '../context.ts';
import { line, whole } from '../draw.ts';
import { counted, labelled, moment, titled, titledText } from '../labelled.ts';
import { dim, oneLine, show } from '../terminal.ts';

export async function showWebhook(context: CommandContext): Promise<ExitCode> {
  const row = await context.ask('webhook.show', routeChoice(context));
  return show(context, row, () => formatRoute(context, row));
}

/** What a route accepts, what it does and where the outcome is sent; settings at their default are left out. */
function formatRoute({ out, gateway }: CommandContext, { definition: route, ...row }: RouteDetail): string {
  const { coalesce, createdAt, concurrency, prompt } = route;
  const since = createdAt === undefined ? '' : `, since ${moment(createdAt, Date.now())}`;
  // A route in force may have been removed from the file meanwhile, so that it has no place there.
  const from = row.place ? `${row.place.file}${since}` : row.source === 'static' ? 'config.yaml' : undefined;
  const head = labelled(out, [
    ['URL', row.url],
    ['Held', row.held && withHomeNamed(gateway, heldWords(row))],
    ['Problem', row.problem && withHomeNamed(gateway, row.problem)],
    ['About', row.description],
    ['Profile', row.profile === 'default' ? undefined : row.profile],
    ['From', from],
    ['Source', route.sender && row.source_words],
    ['Signed', route.signature && formatScheme(route.signature)],
    ['Secrets', row.secret?.older === undefined ? undefined : withHomeNamed(gateway, verifying(row, row.secret.older))],
    ['Body', route.body],
    ['Delivery id', route.deliveryIdAt && formatSpot(route.deliveryIdAt)],
    ['Same bodies', route.allowIdenticalBodies ? 'each runs' : undefined],
    ['Events', row.events.join(', ') || 'all'],
    ['Filters', route.filters.map((condition) => JSON.stringify(condition)).join('\n')],
    ['Script', route.script && `${route.script}, for at most ${route.scriptTimeoutMs / 1_000} s`],
    ['Batch', coalesce && formatBatch(coalesce)],
    ['Leads to', leadsTo(route)],
    ['At once', concurrency === undefined || route.deliverOnly ? undefined : counted(concurrency, 'run')],
    ['Skills', route.skills.join(', ')],
    ['Toolsets', route.toolsets && (route.toolsets.join(', ') || 'none')],
    [
      'Delivers',
      (route.deliverTo ?? [{ ...route, to: row.deliver, extra: route.deliverExtra, when: [] }])
        .map(formatDelivery)
        .join('\n'),
    ],
    ['On failure', route.onFailure && formatPlace(route.onFailure, route.onFailureExtra ?? {})],
  ]);
  const title = route.deliverOnly ? 'Text' : 'Prompt';
  const text = prompt === undefined ? `\n${dim(out, title)}\nThe complete payload.\n` : titledText(out, title, prompt);
  return titled(out, row.name, row.enabled ? 'enabled' : 'disabled') + head + text;
}

function heldWords({ name, profile = defaultProfile, held }: Omit<RouteDetail, 'definition'>): string {
  const release = `agent webhook release ${shellWord(name)}${profileOption(profile)}`;
  const until = held === 'held' ? `until \`${release}\`` : `since ${held} is 0`;
  return `events are accepted, and their runs wait ${until}`;
}

function verifying({ name, profile = defaultProfile, source }: Omit<RouteDetail, 'definition'>, count: number): string {
  const words = `${shellWord(name)}${profileOption(profile)}`;
  const how = source === 'dynamic' ? `; \`agent webhook edit ${words} --drop-older-secret\` leaves the newest` : '';
  return `${count + 1} verify${how}`;
}

function formatScheme({ at, algorithm }: Required<RouteDetail['definition']>['signature']): string {
  return `by ${formatSpot(at)}, ${algorithm}`;
}

/** Such as `header X-Acme-Id`. */
function formatSpot(place: Required<RouteDetail['definition']>['deliveryIdAt']): string {
  return Object.entries(place)
    .map(([kind, name]) => `${kind} ${name}`)
    .join(', ');
}

function formatDelivery({
  to,
  extra,
  when,
  text,
  on,
}: NonNullable<RouteDetail['definition']['deliverTo']>[number]): string {
  const conditions = when.map((condition) => JSON.stringify(condition)).join(' and ');
  return [
    formatPlace(to, extra),
    ...(conditions === '' ? [] : [`  when ${conditions}`]),
    ...(text === undefined ? [] : [`  text ${JSON.stringify(text)}`]),
    ...(on === undefined ? [] : [`  on ${on.join(', ')}`]),
  ].join('\n');
}

function leadsTo({ cronJob, deliverOnly }: RouteDetail['definition']): string {
  if (cronJob !== undefined) return `the cron job ${cronJob}`;
  return deliverOnly ? 'a delivery, without a run' : 'an agent run';
}

function formatBatch({ key, windowMs, maxWaitMs, mode }: NonNullable<RouteDetail['definition']['coalesce']>): string {
  const texts = mode === 'batch' ? 'one with all texts' : 'one';
  return `${texts} for events alike in ${key}, once none has come for ${windowMs / 1_000} s or after ${maxWaitMs / 1_000} s`;
}

function formatPlace(target: string, extra: JsonObject): string {
  return [target, ...Object.entries(extra).map(([key, value]) => `${key} ${formatJson(value)}`)].join(', ');
}

function formatJson(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

export async function examineWebhook(context: CommandContext): Promise<ExitCode> {
  const answer = await context.ask('webhook.doctor', routeChoice(context));
  const { out } = context;
  const name = oneLine(answer.name);
  // Of a flood, not every refusal is examined and kept.
  const none = `No refused request of ${name} is kept; \`agent events --route ${shellWord(name)}\` lists its events, each with its outcome.`;
  const lines = answer.refusals.flatMap(({ key, received_at: at, findings }) => [
    line(out, [
      [`Refused ${moment(at, Date.now())}`, 'bold'],
      [`  ${agentOf(context.gateway)} inspect why ${key}`, 'dim'],
    ]),
    ...findings.flatMap(({ text }) => whole(out, `→ ${oneLine(withHomeNamed(context.gateway, text))}`, 'plain', '  ')),
  ]);
  return show(context, answer, () => `${lines.join('\n') || withHomeNamed(context.gateway, none)}\n`);
}
