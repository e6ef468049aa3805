/**
 * The live sessions of the connection charts, one row per connection: opens and closes them, writes their logs, registers
 * their listings and turns their notifications into events of the charts.
 * @see LIF-1, LIF-6, LIF-10 and FLT-4 in docs/specification.md
 */

import { isExhausted } from '../../actors/exhaustion.ts';
import { createLineLog, type LineLog } from '../../actors/line-log.ts';
import type { OpenVerdict, RequestHandlers } from '../../actors/mcp/open-session.ts';
import type { SchemaCache } from '../../actors/mcp/schema-cache.store.ts';
import type { Session, SessionFacts } from '../../actors/mcp/session.ts';
import type { Credentials } from '../../actors/oauth/credentials.store.ts';
import { renewalsSettled } from '../../actors/oauth/renewal.ts';
import type { Logger } from '../../actors/ports.ts';
import { createStopSignal } from '../../actors/stop-signal.ts';
import { causeOf } from '../../machines/base/fault.ts';
import { getOrMake } from '../../machines/base/get-or-make.ts';
import type { JsonObject } from '../../machines/base/json.ts';
import { inProfile } from '../../machines/base/names.ts';
import { retryAfterMs } from '../../machines/dispatch/retry-after.ts';
import type { AfterFailure, ConnectFailure } from '../../machines/mcp/connect-failure.ts';
import type { Handshake } from '../../machines/mcp/era.ts';
import type { OfferList } from '../../machines/mcp/offers.ts';
import { selfProbeMs } from '../../machines/mcp/retry-plan.ts';
import type {
  CloseInput,
  ConnectInput,
  ConnectionEvent,
  ConnectVerdict,
} from '../../machines/mcp/server-connection.machine.ts';
import type { ServerSettings } from '../../machines/mcp/server-settings.ts';
import { lastWords } from '../../machines/mcp/untrusted-words.ts';
import { serverCommand } from '../../machines/oauth/login-hint.ts';
import { authorised, readFailures } from './oauth-access.ts';
import { type Place, type Placement, placed } from './placement.ts';
import type { Registry } from './registry.ts';
import { createRelist } from './relist.ts';
import { createStartSlots } from './start-slots.ts';

interface SessionsPorts {
  readonly settings: (profile: string, server: string) => ServerSettings | undefined;
  readonly registry: (profile: string) => Registry;
  readonly cache: (profile: string) => SchemaCache;
  readonly logFolder: (profile: string) => string;
  readonly requests: (profile: string, server: string) => RequestHandlers;
  /** Present if several gateways share a database. */
  readonly placement?: Pick<Placement, 'seek'> | undefined;
  readonly credentials: (profile: string) => Credentials;
  readonly send: (key: string, event: ConnectionEvent) => void;
  /** Whether a call waits for a connection. */
  readonly isAwaited: (key: string) => boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly userHome: string;
  /** The working folder of a command whose settings name none: the home of the profile. */
  readonly homeOf: (profile: string) => string;
  readonly version: string;
  /** The name of this gateway in listings of a profile's tools. */
  readonly gateway: (profile: string) => string;
  readonly nowMs: () => number;
  readonly random: () => number;
  /** How long the event loop has been busy, in milliseconds that only rise; the process's own loop unless given. */
  readonly busyMs?: () => number;
  readonly redact: (text: string) => string;
  readonly log: Logger;
}

export interface Sessions {
  /** Never rejects. */
  connect(input: ConnectInput, signal: AbortSignal): Promise<ConnectVerdict>;
  /** Resolves when the session and an attempt in progress have ended completely. */
  close(input: CloseInput): Promise<void>;
  /** Closes the session of a connection whose chart crashed. */
  drop(key: string): void;
  /** Resolves when all sessions have ended completely, including those without a chart. */
  closeAll(): Promise<void>;
  /** The session of a connection; undefined if it has none. */
  get(key: string): Session | undefined;
  ping(key: string): void;
  /** Stores a listing of a server's resources or prompts, for the time when the server sleeps. */
  keepOffered(profile: string, server: string, list: OfferList, rows: readonly JsonObject[]): void;
  /** Reports a session that a call found broken or expired; ignored if another call has reported it before. */
  lose(key: string, how: Loss, session?: Session): void;
  /** Drops what is kept of a server whose entry was removed; to be called once its connection has ended. */
  forget(profile: string, server: string): void;
  /** Resolves when all logs, cached listings and renewed tokens are written. */
  closeFiles(): Promise<void>;
}

/** Processes that start at the same time; more would only delay the first usable one. */
const maxStarts = 16;

function preferringInstalled(settings: ServerSettings): ServerSettings {
  const { transport } = settings;
  if (transport.kind !== 'stdio') return settings;
  return { ...settings, transport: { ...transport, env: { npm_config_prefer_offline: 'true', ...transport.env } } };
}

export function connectionKey(profile: string, server: string): string {
  return inProfile(server, profile);
}

type Loss = { readonly kind: 'expired' } | { readonly kind: 'broken'; readonly why: string };

interface Attempt {
  readonly input: ConnectInput;
  readonly settings: ServerSettings;
  readonly serverLog: LineLog;
  readonly facts: SessionFacts;
}

/** The sessions of one connection. */
interface Row {
  /** The current one, with the number that its chart gave it. */
  live: { readonly number: number; readonly session: Session } | undefined;
  opening: Promise<unknown> | undefined;
  /** The close in progress, for which a further close or a connect waits. */
  closing: Promise<unknown> | undefined;
  /** Lost sessions whose last calls or child processes have not ended yet. */
  readonly leaving: Set<Session>;
}

export function createSessions(ports: SessionsPorts): Sessions {
  const rows = new Map<string, Row>();
  const files = createServerFiles(ports);
  const attempts = createAttempts(ports, files, { rowOf, lose });

  function rowOf(key: string): Row {
    return getOrMake(rows, key, () => ({
      live: undefined,
      opening: undefined,
      closing: undefined,
      leaving: new Set(),
    }));
  }

  function lose(key: string, how: Loss, session?: Session): void {
    const row = rowOf(key);
    if (row.live === undefined || (session ?? row.live.session) !== row.live.session) return;
    const { number, session: gone } = row.live;
    row.live = undefined;
    row.leaving.add(gone);
    // The connection is notified first: calls that end with the session query its state.
    if (how.kind === 'expired') ports.send(key, { type: 'session.expired', session: number });
    else ports.send(key, { type: 'session.closed', session: number, why: how.why, chance: ports.random() });
    void gone.retire().then(() => row.leaving.delete(gone));
  }

  /** Runs after the attempt and the close in progress, so that nothing of either is left. */
  function close(key: string, why?: string): Promise<void> {
    const row = rowOf(key);
    const settled = Promise.all([row.opening, row.closing])
      .then(() => {
        const { live } = row;
        row.live = undefined;
        const others = [...row.leaving];
        row.leaving.clear();
        return Promise.all([live?.session.close(why), ...others.map((each) => each.close())]);
      })
      .then(() => {
        if (row.closing === settled) row.closing = undefined;
      });
    row.closing = settled;
    return settled;
  }

  return {
    connect(input, signal) {
      const row = rowOf(connectionKey(input.profile, input.server));
      const earlier = row.live;
      row.live = undefined;
      // A process may hold a lock or a port to its end. Over HTTP, the calls of an expired session may still end well.
      const isProcess = ports.settings(input.profile, input.server)?.transport.kind === 'stdio';
      const left = isProcess ? [...row.leaving] : [];
      const closed = Promise.all([row.closing, earlier?.session.close(), ...left.map((each) => each.close())]);
      const attempt = closed
        .then(() => attempts.connect(input, signal))
        .catch((thrown: unknown) => attempts.crashed(input, thrown));
      const settled = attempt.finally(() => {
        if (row.opening === settled) row.opening = undefined;
      });
      row.opening = settled;
      return settled;
    },
    close: ({ profile, server, why }) => close(connectionKey(profile, server), why ?? undefined),
    drop: (key) => void close(key, 'its connection crashed in the gateway'),
    async closeAll() {
      await Promise.all([...rows.keys()].map((key) => close(key, 'the gateway stops')));
    },
    get: (key) => rows.get(key)?.live?.session,
    ping(key) {
      const session = rows.get(key)?.live?.session;
      void session?.ping().then((why) => {
        if (why !== undefined) lose(key, { kind: 'broken', why }, session);
      });
    },
    keepOffered(profile, server, list, rows) {
      const settings = ports.settings(profile, server);
      const isNew = ports.registry(profile).keepOffered(server, list, rows);
      if (isNew && settings !== undefined) files.cacheListing(profile, settings);
    },
    lose,
    forget: files.forget,
    async closeFiles() {
      await attempts.renewalsSettled();
      await files.close();
    },
  };
}

interface Lives {
  readonly rowOf: (key: string) => Row;
  readonly lose: Sessions['lose'];
}

/** Connects one server once: takes its place and its slot, opens a session, and makes it the current one of its row. */
function createAttempts(ports: SessionsPorts, files: ReturnType<typeof createServerFiles>, { rowOf, lose }: Lives) {
  /** Keyed by the settings, because another address may be another server. */
  const handshakes = new WeakMap<ServerSettings, Handshake>();
  /**
   * Those whose last start took too long. Where the registry cannot be reached, npx asks it for more than a minute before it
   * starts what is installed, so the next start prefers that.
   */
  const slow = new WeakSet<ServerSettings>();
  const inUse = new Set<Credentials>();
  const busyMs = ports.busyMs ?? (() => performance.eventLoopUtilization().active);
  const starts = createStartSlots(maxStarts, ports.isAwaited);

  async function connect(input: ConnectInput, signal: AbortSignal): Promise<ConnectVerdict> {
    const { profile, server, session: number } = input;
    const key = connectionKey(profile, server);
    const settings = ports.settings(profile, server);
    if (settings === undefined) return refused('failed', `mcp server "${server}": is not configured any more`);
    const elsewhere = `mcp server "${server}": another gateway may have it now`;
    const placeLost = new AbortController();
    const { signal: stop, release } = createStopSignal([signal, placeLost.signal]);
    /** The attempt was ended from here, so its failure says nothing about the server. */
    const stopped = () => refused('retry', signal.aborted ? 'stopped' : elsewhere);
    const lostPlace = (): void => {
      placeLost.abort();
      // Calls in flight end with it: the server must be free before another gateway connects to it.
      void rowOf(key).live?.session.close(elsewhere);
      lose(key, { kind: 'broken', why: elsewhere });
    };
    let place: Place | undefined;
    try {
      place = settings.isPlacedOnce
        ? await ports.placement?.seek(profile, server, { lost: lostPlace, signal: stop })
        : undefined;
    } catch (thrown) {
      const why = `mcp server "${server}": the database cannot say which gateway has it: ${causeOf(thrown)}`;
      return refused('retry', ports.redact(why));
    }
    const leavePlace = place?.kind === 'here' ? place.leave : (): void => {};
    const serverLog = files.logOf(profile, server);
    const { facts, relist } = reportsOf(input, settings, serverLog);
    const attempt = { input, settings, serverLog, facts };
    const opened = place?.kind === 'there' ? openThere(attempt, place) : openHere(attempt, stop);
    const verdict = await opened.catch((thrown: unknown) => {
      leavePlace();
      throw thrown;
    });
    release();
    if (verdict.kind === 'failed') {
      leavePlace();
      return stop.aborted ? stopped() : failed(attempt, verdict.failures);
    }
    const session = place?.kind === 'here' ? placed(verdict.session, leavePlace) : verdict.session;
    if (stop.aborted) {
      await session.close();
      return stopped();
    }
    if (place?.kind === 'there') {
      ports.log.log('info', `mcp server "${server}" is used through gateway "${place.node}"`, { server, profile });
    }
    slow.delete(settings);
    rowOf(key).live = { number, session };
    const tools = ports.registry(profile).learn(server, verdict.listing);
    files.cacheListing(profile, settings, ports.nowMs());
    // While it was disconnected, its resources and prompts were left out.
    const { capabilities } = verdict.listing;
    const back = (['resources', 'prompts'] as const).filter((list) => capabilities[list] !== undefined);
    if (back.length > 0) ports.registry(profile).announce(back);
    // A change that was reported during the listing could not be listed before.
    void relist([]);
    return { kind: 'connected', era: verdict.session.era, tools };
  }

  /** Opens a session of this gateway. A process occupies a slot until it is connected. */
  async function openHere({ input, settings, serverLog, facts }: Attempt, stop: AbortSignal): Promise<OpenVerdict> {
    const { profile, server } = input;
    // Loaded here, because a daemon with sleeping servers never needs the protocol's client, which loads the slowest of all.
    const { openSession } = await import('../../actors/mcp/open-session.ts');
    const isProcess = settings.transport.kind === 'stdio';
    const leave = isProcess ? await starts.enter(connectionKey(profile, server), stop).catch(() => null) : undefined;
    if (leave === null) return { kind: 'failed', failures: [] };
    const { userHome, env, version, log } = ports;
    const credentials = ports.credentials(profile);
    inUse.add(credentials);
    const transport = {
      ...{ log, userHome, env, version, cwd: ports.homeOf(profile) },
      onStderr: (chunk: Buffer) => serverLog.write(chunk),
      ...authorised(settings, { ...ports, credentials }),
    };
    const handshake = {
      get: () => handshakes.get(settings),
      set: (taken: Handshake) => void handshakes.set(settings, taken),
    };
    const requests = ports.requests(profile, server);
    const gateway = ports.gateway(profile);
    const started = slow.has(settings) ? preferringInstalled(settings) : settings;
    return openSession(started, { transport, facts, requests, handshake, gateway }, stop).finally(leave);
  }

  async function openThere({ settings, facts }: Attempt, there: Extract<Place, { kind: 'there' }>) {
    const { openRemoteSession } = await import('../../actors/mcp/remote-session.ts');
    return openRemoteSession({ ...there, settings }, facts);
  }

  /** What follows from the reports of an attempt's session while it is the current one of its connection. */
  function reportsOf(input: ConnectInput, settings: ServerSettings, serverLog: LineLog) {
    const { profile, server } = input;
    const key = connectionKey(profile, server);
    const own = (): Session | undefined => {
      const { live } = rowOf(key);
      return live?.number === input.session ? live.session : undefined;
    };
    const loseOwn = (how: Loss): void => {
      const session = own();
      if (session !== undefined) lose(key, how, session);
    };
    const relist = createRelist({
      ...{ server, busyMs, log: ports.log },
      isLive: () => own() !== undefined,
      async listTools() {
        const listing = await own()?.list(AbortSignal.timeout(settings.connectTimeoutMs));
        if (listing === undefined || own() === undefined) return;
        ports.send(key, { type: 'tools.listed', tools: ports.registry(profile).learn(server, listing) });
        files.cacheListing(profile, settings, ports.nowMs());
      },
      announce: (lists) => ports.registry(profile).announce(lists),
    });
    const facts: SessionFacts = {
      closed: (why) => loseOwn({ kind: 'broken', why: ports.redact(lost(input, why)) }),
      expired: () => loseOwn({ kind: 'expired' }),
      listChanged: (lists) => void relist(lists),
      logged: (line) => serverLog.write(Buffer.from(`${line}\n`)),
    };
    return { relist, facts };
  }

  /** The verdict on a failed attempt, which the server's log has too. */
  function failed({ input, settings, serverLog }: Attempt, failures: readonly ConnectFailure[]): ConnectVerdict {
    const { profile } = input;
    if (failures.some(({ kind }) => kind === 'timeout')) slow.add(settings);
    else slow.delete(settings);
    const facts = {
      profile,
      credentials: ports.credentials(profile),
      hasLog: true,
      // Earlier runs of the gateway count too, because it may be started together with the proxy before the server.
      hasConnected: ports.registry(profile).listing(settings.name) !== undefined,
      nowMs: ports.nowMs,
    };
    const { after, why, mayPass } = readFailures(settings, failures, facts);
    const at = new Date(ports.nowMs()).toISOString();
    serverLog.write(Buffer.from(`${at} gateway: ${why.replace(/; read `agent mcp logs[^`]*`/, '')}\n`));
    const waits = failures.map((failure) =>
      failure.kind === 'http' ? (retryAfterMs({ header: failure.retryAfter }, ports.nowMs()) ?? 0) : 0,
    );
    const waitMs = after === 'needsLogin' ? (mayPass ? selfProbeMs : 0) : Math.max(0, ...waits);
    return refused(after, ports.redact(why), waitMs);
  }

  function refused(after: AfterFailure, why: string, waitMs = 0): ConnectVerdict {
    return { kind: 'refused', after, why, chance: ports.random(), ...(waitMs > 0 ? { waitMs } : {}) };
  }

  /** A part of the gateway that could not be read for lack of descriptors is not read again by Node. */
  function crashed({ server }: ConnectInput, thrown: unknown): ConnectVerdict {
    const cure = isExhausted(thrown) ? '; restart the gateway if this continues' : '';
    const why = `mcp server "${server}": the gateway cannot connect it: ${causeOf(thrown)}${cure}`;
    return refused('retry', ports.redact(why));
  }

  return {
    connect,
    crashed,
    /** Resolves when all renewed tokens are written. */
    renewalsSettled: () => Promise.all([...inUse].map(renewalsSettled)),
  };
}

function createServerFiles(ports: Pick<SessionsPorts, 'registry' | 'cache' | 'logFolder' | 'redact'>) {
  const logs = new Map<string, LineLog>();
  /** When the tools of a connection were listed; their cache time counts from then. */
  const listedAtMs = new Map<string, number>();
  /** Writes in the background, for which `close` waits. */
  const writes = new Set<Promise<void>>();

  function inBackground(written: Promise<void>): void {
    writes.add(written);
    void written.finally(() => writes.delete(written));
  }

  return {
    logOf(profile: string, server: string): LineLog {
      return getOrMake(logs, connectionKey(profile, server), () =>
        createLineLog({ folder: ports.logFolder(profile), name: server, redact: ports.redact }),
      );
    },
    /** Writes a listing with the time of its tools: given if they were just listed, else as it was. */
    cacheListing(profile: string, settings: ServerSettings, listedNowMs?: number): void {
      const key = connectionKey(profile, settings.name);
      const listing = ports.registry(profile).listing(settings.name);
      const atMs = listedNowMs ?? listedAtMs.get(key);
      if (listing === undefined || atMs === undefined) return;
      listedAtMs.set(key, atMs);
      inBackground(ports.cache(profile).write(settings, listing, atMs));
    },
    forget(profile: string, server: string): void {
      const key = connectionKey(profile, server);
      listedAtMs.delete(key);
      // Each log keeps a descriptor.
      inBackground(logs.get(key)?.close() ?? Promise.resolve());
      logs.delete(key);
    },
    async close(): Promise<void> {
      await Promise.all(writes);
      await Promise.all([...logs.values()].map((each) => each.close()));
    },
  };
}

function lost({ server, profile }: ConnectInput, why: string): string {
  return `mcp server "${server}": ${lastWords(why)}; read \`${serverCommand('logs', server, profile)}\``;
}
