/**
 * The commands about the events of the history: search and follow them, one event in detail, the curl command that sends it,
 * and a replay, optionally with changes.
 * @see DUR-2, INS-4 and CLI-3 in docs/specification.md
 */

import { defined, type JsonObject } from '../../machines/base/json.ts';
import { replayedStatuses } from '../../machines/base/status.ts';
import { holdOf } from '../../machines/config/hints.ts';
import { schemeWith } from '../../machines/config/signature-scheme.ts';
import { sourceOf } from '../../machines/config/sources.ts';
import { curlCommand } from '../../machines/webhook/curl.ts';
import { type EventRecord, firedJob, isRequestKept } from '../../machines/webhook/record.ts';
import { argumentsOf } from '../inspector/request-outcomes.ts';
import { counted } from '../inspector/timeline-sources.ts';
import type { ReplayChanges } from '../webhook/own-request.ts';
import {
  type CommandHost,
  type Commands,
  daemonOf,
  givenText,
  invalidParameter,
  ofDaemon,
  optionalText,
  textOf,
} from './command.ts';
import type { EventChoice, HistoryQuery } from './contract/choices.ts';
import type { OpenedEvent } from './contract/event-wire.ts';
import type { Diagnosis, EventSearch, HistoryDetail } from './contract/events.ts';
import { refuse } from './contract/refusal.ts';
import { choiceOf, formatChoice, queryOf, unknownDelivery } from './event-choice.ts';
import { homeOf, knownRouteOf, profileOf, routedHomeOf, routeUrl } from './home-view.ts';
import { findingsOf } from './webhook-doctor.ts';

const defaultRows = 100;
const maxRows = 1_000;

export const eventCommands = {
  'webhook.deliveries': ofDaemon((daemon, params) => daemon.deliveries(queryOf(params))),
  'webhook.delivery': ofDaemon(async (daemon, params) => {
    const id = textOf(params, 'id');
    const choice = choiceOf(params);
    const acts = params.acts === true;
    const found = await daemon.delivery(id, choice, params.handshake === true, acts);
    if (found !== undefined && (!acts || isRequestKept(found.record))) return found;
    return acts ? withoutBody(found ?? (await daemon.delivery(id, choice)), id, choice) : unknownDelivery(id, choice);
  }),

  'events.search': ofDaemon((daemon, params) => {
    const { limit = defaultRows } = params;
    if (typeof limit !== 'number' || !Number.isInteger(limit) || limit < 0 || limit > maxRows) {
      invalidParameter(params, 'limit', `a whole number from 0 to ${maxRows}`);
    }
    return daemon.events.search({ ...searchOf(params), limit, ...defined({ cursor: givenText(params, 'cursor') }) });
  }),
  'events.follow': (host, params, peer) => {
    const left = new AbortController();
    peer.onEnd(() => left.abort());
    return daemonOf(host).events.follow(searchOf(params), (news) => peer.notify('events.news', news), left.signal);
  },
  'events.open': async (host, params) => {
    const id = textOf(params, 'id');
    const choice = choiceOf(params);
    const opened = await daemonOf(host).openEvent(id, choice, {
      whole: params.whole === true,
      answerOf: (event) => sourceOf(routeOf(event, host)?.route.sender)?.answer,
      heldBy: (event) => holdOf(homeOf(host).main.settings.agent.concurrency, routeOf(event, host)?.route),
    });
    if (opened === undefined) return unknownEvent(id, choice, host);
    return opened.status === 'refused' ? explained(opened, findingsOf(opened, host)) : opened;
  },

  'events.curl': async (host, params) => {
    const id = textOf(params, 'id');
    const choice = choiceOf(params);
    const found = await daemonOf(host).delivery(id, choice);
    const record = found?.record;
    if (record === undefined || !isRequestKept(record)) return withoutBody(found, id, choice);
    return { curl: curlOf(record, host) };
  },

  'events.replayAll': ofDaemon(async (daemon, params) => {
    const keys = await daemon.deliveryKeys(endedOf(params));
    // The oldest first, as they came.
    return daemon.replayEach(keys.reverse());
  }),

  'webhook.replay': ofDaemon(async (daemon, params) => {
    const id = textOf(params, 'id');
    const choice = choiceOf(params);
    const answer = await daemon.replay(id, choice, changesOf(params));
    return answer ?? withoutBody(await daemon.delivery(id, choice), id, choice);
  }),
} satisfies Partial<Commands>;

/** The findings contain the reason and a more exact remedy, so they replace both in the verdict. */
function explained(opened: OpenedEvent, findings: Diagnosis['findings']): OpenedEvent {
  const texts = findings.filter(({ code }) => code !== 'other-refusal').map(({ text }) => text);
  if (texts.length === 0) return opened;
  const { verdict, checks } = opened;
  const text = verdict.text.replace(`: ${checks.at(-1)?.detail}.`, '.');
  return { ...opened, verdict: { ...verdict, text, detail: texts.join(' ') } };
}

/** Refuses what needs the payload of an event that has none: which event is meant, why, and what helps. */
function withoutBody(found: HistoryDetail | undefined, id: string, choice: EventChoice): never {
  if (found === undefined) return unknownDelivery(id, choice);
  const { key, delivery_id: meant, profile, record } = found;
  if (isRequestKept(record))
    return refuse('delivery-unknown', `"${id}" is only the beginning of the id ${meant}; give it in full`);
  const job = firedJob(record);
  const why =
    job === undefined
      ? `its request was refused or is too old, and its body was not kept; the sender can send it again, or \`agent events replay ${key} --payload <file>\` gives it one`
      : `it is a firing of the cron job ${job}, which \`agent cron run ${argumentsOf(record.cronJob ?? job, profile)}\` fires again`;
  return refuse('delivery-unknown', `${meant} has no payload: ${why}`);
}

function unknownEvent(id: string, choice: EventChoice, host: CommandHost): never {
  const { journal } = daemonOf(host).status();
  // It may be in the journal, which cannot be read.
  if (journal !== 'ready') return refuse('journal-unavailable', journal);
  const hours = routedHomeOf(host).home.main.settings.gateway.history.maxAgeMs / 3_600_000;
  const kept = hours % 24 === 0 ? counted(hours / 24, 'day') : counted(hours, 'hour');
  return refuse(
    'delivery-unknown',
    `event ${formatChoice(id, choice)} is no longer in the history (kept ${kept}); \`agent events\` lists the others`,
  );
}

function endedOf(params: JsonObject): Omit<HistoryQuery, 'limit'> {
  const { limit: _, ...query } = queryOf(params);
  if (replayedStatuses.some((one) => one === query.status)) return query;
  return invalidParameter(params, 'status', replayedStatuses.join(', '));
}

function changesOf(params: JsonObject): ReplayChanges {
  const { payload, dry } = params;
  if (payload !== undefined && typeof payload !== 'string')
    return invalidParameter(params, 'payload', 'a text, as a sender would write it');
  const changes = defined({ payload, event: optionalText(params, 'event'), to: optionalText(params, 'to') });
  return dry === true ? { ...changes, isDry: true } : changes;
}

function curlOf(event: EventRecord, host: CommandHost): string {
  const entry = routeOf(event, host);
  if (entry === undefined) {
    return refuse('route-unknown', `route "${event.route}" is not configured any more, so its scheme is not known`);
  }
  const { route, secret } = entry;
  const schemes = sourceOf(route.sender)?.schemes ?? [];
  // A token is sent as it is: the shell does not know whether a secret of GitLab is encoded.
  const scheme = route.signature ?? schemes.find(({ algorithm }) => algorithm === 'token') ?? schemes[0];
  const base = daemonOf(host).url() ?? 'http://127.0.0.1:8644';
  const verdict = curlCommand({
    url: routeUrl(base, route),
    body: event.body,
    contentType: event.headers['content-type'] ?? 'application/json',
    headers: event.headers,
    scheme: secret.kind === 'shared' ? scheme && schemeWith(scheme, secret.secret) : 'none',
    publicUrl: route.publicUrl,
  });
  return verdict.kind === 'command'
    ? verdict.text
    : refuse('params-missing', `route "${route.name}": ${verdict.why}; replay the event instead`);
}

function routeOf({ route: name, profile }: Pick<EventRecord, 'route' | 'profile'>, host: CommandHost) {
  return knownRouteOf(routedHomeOf(host), { name, profile: profileOf(profile) });
}

function searchOf(params: JsonObject): EventSearch {
  return defined({ q: givenText(params, 'q'), range: givenText(params, 'range') });
}
