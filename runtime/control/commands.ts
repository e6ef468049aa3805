/**
 * The table of commands of the control socket. Commands of the home need no daemon and can be run by the command line
 * itself; commands of the daemon read the running one.
 * @see CLI-3 and CLI-5 in docs/specification.md
 */

import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { type HomeSource, loadHome, loadingHome } from '../../actors/config/load-config.ts';
import { inPieces } from '../../actors/in-pieces.ts';
import { defined, isJsonObject, type JsonObject } from '../../machines/base/json.ts';
import { readJson } from '../../machines/base/read-json.ts';
import { timeMs } from '../../machines/base/since.ts';
import { hintsOf, holdOf } from '../../machines/config/hints.ts';
import { homePaths } from '../../machines/config/profile.ts';
import type { Route } from '../../machines/config/route.ts';
import { configSchema } from '../../machines/config/schema.ts';
import { schemeWith } from '../../machines/config/signature-scheme.ts';
import { sourceOf } from '../../machines/config/sources.ts';
import { parseBody } from '../../machines/webhook/body.ts';
import { compileRoute } from '../../machines/webhook/compile-route.ts';
import type { Hand } from '../../machines/webhook/record.ts';
import { partDigest } from '../../machines/webhook/request-rules.ts';
import { findSample, samplesFor, signSample } from '../../machines/webhook/samples.ts';
import { type SignedEvent, signEvent, signsByPrivateKey } from '../../machines/webhook/sign-event.ts';
import { signV2 } from '../../machines/webhook/signature.ts';
import { createDocumentsInForce, type DocumentsInForceSettings } from '../config/documents-in-force.ts';
import { learnSecrets, withLostFiles } from '../config/loaded-home.ts';
import { heldWords } from '../inspector/event-verdict.ts';
import { atTerminal, createAuditLog, readAudit } from '../observe/audit.ts';
import { createRedactor } from '../observe/redact.ts';
import { approvalCommands } from './approval-commands.ts';
import { chatCommands } from './chat-commands.ts';
import {
  type Command,
  type CommandHost,
  type CommandPeer,
  type Commands,
  daemonOf,
  givenText,
  ofDaemon,
  textOf,
} from './command.ts';
import { showConfig, showSource, withDraft } from './config-view.ts';
import { refuse } from './contract/refusal.ts';
import type { RunHistory } from './contract/runs.ts';
import type { Result } from './contract.ts';
import { cronCommands } from './cron-commands.ts';
import { databaseCommands } from './database-commands.ts';
import { deliveryCommands } from './delivery-commands.ts';
import { askedRoute, queryOf } from './event-choice.ts';
import { eventCommands } from './event-commands.ts';
import {
  askedRouteOf,
  homeOf,
  profileOf,
  routedHomeOf,
  routeUrl,
  subscribe,
  unsubscribe,
  webhooksOff,
} from './home-view.ts';
import { inspectCommands } from './inspect-commands.ts';
import { mcpCommands } from './mcp-commands.ts';
import { onlyReads, usesDocuments } from './methods.ts';
import { routeCommands } from './route-commands.ts';
import { serverCommands } from './server-commands.ts';
import { setupCommands } from './setup-commands.ts';
import type { DaemonView } from './view.ts';
import { examineRoute } from './webhook-doctor.ts';

const table: Commands = {
  ...mcpCommands,
  ...approvalCommands,
  ...serverCommands,
  ...deliveryCommands,
  ...chatCommands,
  ...cronCommands,
  ...setupCommands,
  ...eventCommands,
  'audit.list': async ({ source, audit }, params) => {
    const { limit = 100 } = params;
    const since = givenText(params, 'since');
    const fromMs = since === undefined ? 0 : timeMs(since);
    if (!Number.isInteger(limit) || Number(limit) < 0 || Number.isNaN(fromMs)) {
      refuse('params-missing', '"limit" must be a whole number from 0, and "since" a time of ISO 8601');
    }
    await audit?.settled();
    const words = (givenText(params, 'search') ?? '').toLowerCase();
    return readAudit(homePaths(source.home).logs, { sinceMs: fromMs, words, limit: Number(limit) });
  },
  ...databaseCommands,
  'gateway.status': ofDaemon((daemon) => daemon.status()),
  'gateway.stop': ofDaemon((daemon) => {
    daemon.stop();
    return { stopping: true };
  }),

  'gateway.nodes': async (host) =>
    host.nodes?.list() ?? [
      {
        node: homeOf(host).main.settings.gateway.node ?? hostname(),
        session: '',
        leader: true,
        self: true,
        silent_ms: 0,
        status: await daemonOf(host).status(),
      },
    ],
  'gateway.reload': ofDaemon(async (daemon) => {
    await daemon.reload();
    const { restart_for } = daemon.status();
    return { reloaded: true, ...(restart_for === undefined ? {} : { restart_for }) };
  }),

  ...routeCommands,
  'webhook.subscribe': (host, params) =>
    subscribe(
      routedHomeOf(host),
      {
        name: textOf(params, 'name'),
        profile: profileOf(params.profile),
        record: (params.record ?? {}) as JsonObject,
        force: params.force === true,
      },
      host.daemon?.url(),
    ),

  'webhook.remove': async (host, params) => {
    const name = textOf(params, 'name');
    await unsubscribe(routedHomeOf(host), name, profileOf(params.profile));
    return { removed: name };
  },

  'webhook.doctor': examineRoute,
  'webhook.samples': (host, params) => ({
    samples: samplesFor(askedRouteOf(routedHomeOf(host), askedRoute(params)).route.sender),
  }),
  'webhook.test': testRoute,
  'config.check': async ({ source, inForce }, params) => {
    const home = await inPieces(loadingHome(withDraft(source, profileOf(params.profile), params.text)));
    return withLostFiles(home, inForce?.().home).diagnostics;
  },
  'config.hints': async ({ source }) => hintsOf((await inPieces(loadingHome(source))).profiles),

  'config.schema': () => configSchema(),
  'config.show': ({ source }, params) => showConfig(source, profileOf(params.profile)),
  'config.source': showSource,
  'runs.list': ofRuns((runs, params) => runs.runs(queryOf(params))),
  'runs.show': ofRuns(async (runs, params) => {
    const id = textOf(params, 'id');
    const found = await runs.run(id, { transcript: params.transcript === true });
    // The answer to a sender has the id of an event, which its run does not have.
    const cure = '`agent runs list` lists them, `agent events show` takes the id of an event';
    return found ?? refuse('run-unknown', `no run "${id}" is in the history; ${cure}`);
  }),

  ...inspectCommands,
  'runs.cancel': ofDaemon(async (daemon, params) => {
    const hand = handOf(params);
    if (params.all !== true) return cancelRun(daemon, textOf(params, 'id'), hand);
    const { limit: _, ...query } = queryOf(params);
    const { done, ...rest } = await daemon.runCancels.all(query, hand);
    return { cancelled: done, ...rest };
  }),
};

export const commands: ReadonlyMap<string, Command> = new Map(Object.entries(table));

/** Reads the history from the daemon, or without one from the journal on disk; a `note` then says so. */
function ofRuns<Answer>(ask: (runs: RunHistory, params: JsonObject) => Promise<Answer>): Command<Answer> {
  return async ({ daemon, source }, params, peer) => {
    if (daemon !== undefined) return ask(daemon, params);
    const { askKeptRuns } = await import('./kept-runs.ts');
    return askKeptRuns(
      source,
      (text) => peer.notify('note', { text }),
      (runs) => ask(runs, params),
    );
  };
}

/**
 * Signs a payload or a sample by the route's scheme and posts it to the gateway; if only the sender can sign, it is
 * submitted without a signature.
 */
async function testRoute(host: CommandHost, params: JsonObject): Promise<Result<'webhook.test'>> {
  const asked = askedRoute(params);
  const daemon = daemonOf(host);
  const routed = routedHomeOf(host);
  const why = routed.home.main.settings.webhook.enabled
    ? 'the webhook adapter does not listen; `agent gateway status` shows why'
    : webhooksOff;
  const base = daemon.url() ?? refuse('gateway-not-listening', why);
  const { route, secret } = askedRouteOf(routed, asked);
  const key = secret.kind === 'shared' ? secret.secret : undefined;
  const path = routeUrl('', route);
  const event = params.sample === undefined ? testEvent : sampleEvent;
  const { headers: signed, body, query } = event(params, key, { route, path });
  const headers = { 'content-type': 'application/json', ...signed };
  const checksOnly = params.checks_only === true || undefined;
  if (key !== undefined && isSignedBySenderAlone(route, key)) {
    const answer = await daemon.sendOwn({ path, query, headers, body, checksOnly, handedIn: handOf(params) });
    const signer = sourceOf(route.sender)?.title ?? 'the sender';
    return { ...answer, note: `Only ${signer} can sign this event, so it was handed in without its signature.` };
  }
  if (checksOnly) return daemon.sendOwn({ path, query, headers, body, checksOnly });
  // A sample has the same body and so the same signature each time, and the owner may repeat the test.
  const { verify, body: rule, claimedBy } = compileRoute({ route, secret });
  const payload = (): JsonObject | undefined => {
    const parsed = parseBody(body, headers, rule);
    return parsed.ok ? parsed.value : undefined;
  };
  const verdict = verify({ headers, body: Buffer.from(body), nowMs: Date.now(), path, query, payload });
  if (verdict.kind === 'genuine' && verdict.signed !== undefined) {
    const digest = claimedBy(verdict.signed.digest, headers);
    await daemon.forgetSignature(rule.shape === 'each' ? partDigest(digest, 0) : digest);
  }
  const response = await fetch(`${base}${path}${query === undefined ? '' : `?${query}`}`, {
    method: 'POST',
    body,
    headers,
  });
  const held = holdOf(routed.home.main.settings.agent.concurrency, route);
  const note = response.status === 202 && held !== undefined ? { note: heldWords(held, route.name) } : {};
  return { status: response.status, body: await response.text(), ...note };
}

function sampleEvent(
  params: JsonObject,
  secret: string | undefined,
  { route, path }: { readonly route: Route; readonly path: string },
): SignedEvent {
  if (params.payload !== undefined || params.event !== undefined) {
    refuse('params-missing', 'a sample has its own event and payload; give it alone');
  }
  const found = findSample(textOf(params, 'sample'), route.sender);
  if (!found.ok) return refuse('params-missing', found.why);
  const { publicUrl } = route;
  return signSample(found.name, { id: randomUUID(), secret, route, path, publicUrl, nowMs: Date.now() });
}

function isSignedBySenderAlone({ sender, signature }: Route, secret: string): boolean {
  const scheme = signature ?? sourceOf(sender)?.schemes[0];
  return scheme !== undefined && signsByPrivateKey(schemeWith(scheme, secret).algorithm);
}

function testEvent(
  params: JsonObject,
  secret: string | undefined,
  { route, path }: { readonly route: Route; readonly path: string },
): SignedEvent {
  const given = params.payload ?? { test: true, message: 'Hello from agent webhook test' };
  const written = typeof given === 'string' ? given : JSON.stringify(given);
  const payload = readJson(written);
  if (payload === undefined) return refuse('params-missing', 'the payload is not JSON');
  const event = typeof params.event === 'string' ? params.event : undefined;
  const source = sourceOf(route.sender);
  // A source has its own place for the type.
  const text =
    event === undefined || source !== undefined || !isJsonObject(payload) ? written : withType(written, event);
  const scheme = route.signature ?? source?.schemes[0];
  if (scheme !== undefined && secret !== undefined) {
    if (!isJsonObject(payload)) return refuse('params-missing', 'the payload of such a route is an object');
    const use = { name: route.sender ?? 'declared', secret, publicUrl: route.publicUrl };
    return signEvent(scheme, use, { payload, text, event, id: randomUUID(), path, nowMs: Date.now() }, source);
  }
  return { headers: secret === undefined ? {} : signV2(secret, Math.floor(Date.now() / 1_000), text), body: text };
}

/** Puts a type before the fields of an object, which is otherwise sent as written; one of its own is later and counts. */
function withType(text: string, type: string): string {
  const rest = text.trimStart().slice(1).trimStart();
  return `{"event_type":${JSON.stringify(type)}${rest.startsWith('}') ? '' : ','}${rest}`;
}

function handOf({ by }: JsonObject): Hand {
  return by === 'page' ? 'the page' : 'the command line';
}

async function cancelRun(daemon: DaemonView, asked: string, by: Hand): Promise<Result<'runs.cancel'>> {
  const id = (await daemon.run(asked))?.id ?? asked;
  const verdict = await daemon.runCancels.one(id, by);
  switch (verdict.kind) {
    case 'cancelled':
      return { cancelled: id };
    case 'notified':
      return { cancelling: id };
    case 'over':
      return refuse(
        'run-over',
        `run "${id}" is ${verdict.status} and cannot be cancelled any more${dropHint(id, verdict)}`,
      );
    case 'elsewhere':
      return refuse('run-elsewhere', `run "${id}" is at another gateway; cancel it there`);
    case 'refused':
      return refuse('journal-unavailable', verdict.reason);
    case 'unknown':
      return refuse('run-unknown', `no run "${id}" is in the history; \`agent runs list\` lists them`);
  }
}

/** A response may have several deliveries, of which only the first has the id of the run. */
function dropHint(id: string, { status }: { readonly status: string }): string {
  if (status !== 'delivering') return '';
  return `; \`agent runs show ${id}\` lists its deliveries, and \`agent deliveries drop <id>\` drops one`;
}

interface HomeCaller {
  readonly source: HomeSource;
  readonly peer: CommandPeer;
  /** Connects to the documents of a database; the spec provides its own. */
  readonly connect?: DocumentsInForceSettings['connect'];
}

/** Runs a command of a home without a running gateway, and records in the audit log what it changed or was refused. */
export async function runAtHome(method: string, params: JsonObject, caller: HomeCaller): Promise<unknown> {
  const { source } = caller;
  const writeDown = async (thrown?: unknown): Promise<void> => {
    if (onlyReads(method)) return;
    const redactor = createRedactor();
    learnSecrets(loadHome(source), redactor);
    const audit = createAuditLog(homePaths(source.home).logs, redactor.text);
    audit.add(atTerminal, { method, params }, thrown);
    await audit.close();
  };
  let result: unknown;
  try {
    result = await withDocuments(method, caller, async (chosen) =>
      commands.get(method)?.({ source: chosen }, params, caller.peer),
    );
  } catch (thrown) {
    await writeDown(thrown);
    throw thrown;
  }
  await writeDown();
  return result;
}

/**
 * The documents of a home that are in a database are read only if the command reads or changes them.
 * @throws Refusal if the database cannot be read
 */
async function withDocuments<Answer>(
  method: string,
  { source, connect }: HomeCaller,
  work: (source: HomeSource) => Promise<Answer>,
): Promise<Answer> {
  const log = { log: () => {}, warnOnce: () => {} };
  const documents = createDocumentsInForce({ home: source.home, log, ...defined({ connect }) });
  const chosen = { ...source, documents: documents.choose };
  try {
    if (usesDocuments(method)) {
      loadHome(chosen);
      const unread = await documents.open();
      if (unread !== undefined) refuse(unread.code, unread.message);
    }
    return await work(chosen);
  } finally {
    // A change that is written stays written, however the connection ends.
    await documents.close().catch(() => {});
  }
}
