/**
 * Assembles the daemon: creates its parts, connects them to each other and to the supervisor, and starts none of them.
 * Decides nothing.
 * @see CON-2 and CFG-2 in docs/specification.md
 */

import { type AnyActorRef, createActor } from 'xstate';
import type { HomeSource } from '../actors/config/load-config.ts';
import { compile } from '../machines/base/compile.ts';
import type { Fault } from '../machines/base/fault.ts';
import { rangeSpans } from '../machines/base/time-range.ts';
import type { HomePaths } from '../machines/config/profile.ts';
import type { GatewayContext } from '../machines/webhook/gateway.machine.ts';
import { assembleChats } from './agent/assemble-chats.ts';
import { createProfileServices } from './agent/profile-tools.ts';
import { createRunners } from './agent/runners.ts';
import { createConfigHistory } from './config/config-history.ts';
import type { DocumentsInForce } from './config/documents-in-force.ts';
import { adapterBlock } from './config/loaded-home.ts';
import { createReloads, type Homes, wireReload } from './config/reload.ts';
import type { CommandHost } from './control/command.ts';
import { createDaemonView } from './control/daemon-view.ts';
import { createNodes } from './control/nodes.ts';
import { createOverview } from './control/overview.ts';
import { questionsEverywhere } from './control/questions-elsewhere.ts';
import { openRunSocket } from './control/run-socket.ts';
import { createEventStats } from './dispatch/event-stats.ts';
import { createHealth } from './inspector/health.ts';
import { createInspector } from './inspector/inspector.ts';
import { createPlacement } from './mcp/placement.ts';
import { assembleServers } from './mcp/servers.ts';
import { createMcpView } from './mcp/view.ts';
import { createAuditLog } from './observe/audit.ts';
import type { Log } from './observe/log.ts';
import type { Metrics } from './observe/metrics.ts';
import { countRestarts } from './observe/metrics-counts.ts';
import type { Redactor } from './observe/redact.ts';
import { createTracing } from './observe/tracing.ts';
import { createClock } from './system/clock.ts';
import { pageFolder } from './system/package-files.ts';
import { wireSupervisor } from './system/supervisor.ts';
import { createTicks } from './system/ticks.ts';
import { indexTimers } from './system/timers.ts';
import { assembleWebhooks } from './webhook/webhooks.ts';

interface AssemblyPorts {
  readonly source: HomeSource;
  readonly documents: DocumentsInForce;
  readonly version: string;
  readonly maxWaiting: number | undefined;
  readonly paths: HomePaths;
  readonly homes: Homes;
  /** Why the webhook adapter must not start; null if it may. */
  readonly blocked: string | null;
  readonly redactor: Redactor;
  readonly metrics: Metrics;
  readonly log: Log;
  /** Locks the home before anything is written to it; resolves with the fault that prevents it. */
  readonly hold: () => Promise<Fault | undefined>;
}

export type DaemonParts = Awaited<ReturnType<typeof assembleDaemon>>;

/** A notification of a changed document may be lost, so each gateway checks this often. */
const documentsMs = 3_000;
/** Transitions that are kept per actor. */
const trailLength = 24;

export async function assembleDaemon(ports: AssemblyPorts) {
  const { source, documents, version, maxWaiting, paths, homes, redactor, metrics, log } = ports;
  const { home, env } = source;
  const nowMs = (): number => Date.now();
  /** For waits and windows: unaffected when the clock is set back. */
  const steadyMs = (): number => performance.now();
  const startedAtMs = nowMs();
  const beganMs = steadyMs();
  const rootOf = (): AnyActorRef => root;
  const settings = () => homes.inForce().main.settings;
  const concurrency = (): number => settings().agent.concurrency;
  const { every, end: endTicks } = createTicks();
  const reloads = createReloads(homes, log);
  const reload = (): Promise<void> => reloads.ask(root);
  const runners = createRunners({
    paths,
    openSocket: (path, run) => openRunSocket(path, run, { host, log, redact: redactor.text }),
    servers: () => servers,
    redact: redactor.text,
    nowMs,
    random: Math.random,
    log,
  });
  await runners.sweep();
  const profiles = createProfileServices(homes.inForce, runners);
  const tracing = createTracing({ env, version, redact: redactor.text, learn: redactor.learn, nowMs, log });
  const inspector = createInspector({
    root: rootOf,
    redactor,
    home,
    deliveryOf: (key) => webhooks.deliveryOf(key),
    health: () => health.health(),
    readiness: () => health.readiness(),
    metrics: () => metrics.render(health.measure()),
    pageFolder,
    audit: () => audit,
    async loadRpc() {
      const { answerPage } = await import('./control/page-rpc.ts');
      return (request, response, session) =>
        answerPage(request, response, { ...session, host: () => host, redact: redactor.text });
    },
    nowMs,
    log,
  });
  const compiling = { now: nowMs, trail: trailLength, watched: inspector.watched };
  /** Another gateway may have locked the home while its disk was full; then this one stops. */
  const hold = async (): Promise<Fault | undefined> => {
    const refused = await ports.hold();
    if (refused?.code === 'gateway-running') root.send({ type: 'daemon.stop' });
    return refused;
  };
  const shared = { paths, root: rootOf, home: homes.inForce, redactor, compiling, metrics, tracing, nowMs, steadyMs };
  const webhooks = assembleWebhooks({
    ...shared,
    hold,
    openDocuments: documents.open,
    whileAsked: (run, changed) => servers.approvals.whileAsked(run, changed),
    servicesOf: profiles,
    wanted: () => homes.wanted().main.settings,
    every,
    answerOthers: async (question) => (await (placement?.answer(question) ?? host.nodes?.answer(question))) ?? '',
    maxWaiting,
    log,
  });
  const { neighbours, keeper, load } = webhooks;
  const placement = neighbours && createPlacement({ keeper, neighbours, every });
  const chats = assembleChats({ ...shared, servers: () => servers, redact: redactor.text, log });
  const servers = assembleServers({ ...shared, env, version, placement, chats: chats.pool, log });
  servers.approvals.onAsked(webhooks.asked);
  every(() => {
    void documents.refresh().then((isRead) => (isRead ? servers.storeTokens() : undefined));
  }, documentsMs);
  const mcp = createMcpView(servers, redactor, steadyMs, ({ name, profile }) =>
    metrics.recent.calls.read(`${profile}/${name}`, nowMs() - rangeSpans['1h']),
  );
  const health = createHealth({
    root: rootOf,
    mcp,
    metrics,
    keeper,
    isShared: neighbours !== undefined,
    profiles: () => [...homes.inForce().profiles.keys()],
    load,
    concurrency,
    routes: webhooks.routesVersion,
    questionsElsewhere() {
      const questions = host.nodes?.questionsOfOthers() ?? [];
      return 'then' in questions ? undefined : questions.length;
    },
    webhookEnabled: () => settings().webhook.enabled,
    redact: redactor.text,
    viewers: inspector.watching,
    version,
    home,
    startedAtMs,
    nowMs,
  });
  const questions = questionsEverywhere(servers.approvals, () => host.nodes);
  const stats = createEventStats({
    keeper,
    refused: webhooks.decisions.refused,
    seenRun: webhooks.seenRun,
    runsThatWait: questions.runsThatWait,
    nowMs,
  });
  const overview = createOverview({
    pools: webhooks.replay.pools,
    host: () => host,
    keeper,
    events: stats,
    recent: metrics.recent,
    load,
    concurrency,
    runsThatWait: servers.approvals.runsThatWait,
    onStep: inspector.onStep,
    redact: redactor.record,
    nowMs,
  });
  const configHistory = createConfigHistory(homes.inForce(), nowMs);
  /** Both run on their own: neither delays a configuration. */
  const observe = (): void => {
    void inspector.apply(settings().inspector);
    void tracing.apply(settings().telemetry.otlpEndpoint);
  };

  const reloadChart = wireReload({
    homes,
    begun: reloads.begun,
    // Only the gateway can clear its own fault, so it reopens even if the address is unchanged.
    listensAs: (wanted) => gatewayContext()?.fault == null && webhooks.listensAs(wanted),
    apply: () => {
      configHistory.applied(homes.inForce());
      webhooks.reconfigure();
      observe();
    },
    refused: configHistory.refused,
    redact: redactor.text,
    log,
  });
  const supervisor = wireSupervisor({
    journal: webhooks.journal,
    servers: servers.logic,
    gateway: webhooks.gateway,
    reload: compile(reloadChart, compiling),
    resumeWork: webhooks.resume,
    reloadEnded: reloads.ended,
    refuseReloads: reloads.refuse,
    abandonWork: webhooks.abandon,
    steadyMs,
    random: Math.random,
    log,
  });
  const root = createActor(inspector.stateTimes.remembering(supervisor), {
    input: { listens: settings().webhook.enabled, blocked: ports.blocked },
    clock: createClock(),
  });
  indexTimers(root, nowMs);
  countRestarts(root, metrics);
  const gatewayContext = (): GatewayContext | undefined => root.system.get('gateway')?.getSnapshot().context;

  const audit = createAuditLog(paths.logs, redactor.text, { warn: (message) => log.log('warn', message) });
  const nodes =
    neighbours &&
    createNodes({ neighbours, session: keeper.session, leads: keeper.leads, host: () => host, redact: redactor.text });
  const host: CommandHost = {
    audit,
    ...(nodes === undefined ? {} : { nodes }),
    source,
    inForce: () => ({ home: homes.inForce(), sources: webhooks.sources(), problems: homes.problems() }),
    version,
    daemon: createDaemonView({
      ...webhooks,
      root,
      home,
      path: source.env.PATH ?? '',
      isBackground: source.env.AGENT_BACKGROUND !== undefined,
      version,
      inspector,
      stats,
      mcp,
      chat: chats.view,
      overview,
      recent: metrics.recent,
      configHistory,
      workOf: (run) => ({
        calls: servers.memory.ofRun(run),
        callsUnderWay: servers.calls.ofRun(run),
        questions: questions.ofRun(run),
      }),
      runsThatWait: questions.runsThatWait,
      url: () => gatewayContext()?.url ?? undefined,
      webhookEnabled: () => settings().webhook.enabled,
      webhookServer: () => webhooks.httpServer(),
      webhookFault: () => gatewayContext()?.fault ?? undefined,
      configFault: () => {
        const { refusal } = root.getSnapshot().context;
        return refusal === null ? undefined : redactor.text(refusal);
      },
      configFindings() {
        const block = adapterBlock(homes.inForce());
        return block.kind === 'section' ? redactor.text(block.fault) : undefined;
      },
      redact: redactor.record,
      redactText: redactor.text,
      reload,
      upMs: () => steadyMs() - beganMs,
      nowMs,
    }),
  };
  return { root, webhooks, inspector, tracing, every, endTicks, hold, host, reload, observe };
}
