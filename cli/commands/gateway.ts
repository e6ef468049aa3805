/** `agent gateway …`: start, stop, inspect and reload the daemon. @see CLI-1 and CON-2 */

import { spawn } from 'node:child_process';
import { closeSync, fstatSync, openSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { ensurePrivateFolder, isDiskRefusal } from '../../actors/files.ts';
import { isRunning } from '../../actors/lock-file.ts';
import { placedPaths } from '../../actors/socket-place.ts';
import { causeOf } from '../../machines/base/fault.ts';
import { journalOpening, stateWords } from '../../machines/base/status.ts';
import { homePaths } from '../../machines/config/profile.ts';
import { ConnectionLost, type ControlClient, connectControl } from '../../runtime/control/client.ts';
import type { GatewayStatus, ListenerStatus, NodeRow } from '../../runtime/control/contract/gateway.ts';
import { connectGateway, greetMs, NotRunning } from '../call.ts';
import { agentOf, type CommandContext, type ExitCode, hasFlag, refuse, textFlag, withHomeNamed } from '../context.ts';
import { ago, oneLine, show, table } from '../terminal.ts';
import { version } from '../version.ts';
import { gatewayLog, readableLine } from './gateway-logs.ts';

const startTimeoutMs = 30_000;
const pollMs = 50;
/** In another namespace of processes the number may be that of any other one. */
const exitTimeoutMs = 5_000;
const keptLogLines = 12;
/** The states of a gateway that was asked to stop, or that has ended. */
const isEnding = /\bdraining$|^(?:closing|stopped|failed)$/;
/** A log that is larger than this is rotated at the next start; one earlier file is kept. */
const maxLogLength = 16 * 1_048_576;

/**
 * Refuses a start by sudo in the home of another user, whose own gateway could then not use what root had written; returns
 * whether it has. The root of a container, which has no SUDO_UID, may serve a folder that is mounted.
 */
function refuseSudo({ home, env, out }: CommandContext): boolean {
  const owner = statSync(home, { throwIfNoEntry: false })?.uid ?? 0;
  if (process.getuid?.() !== 0 || env.SUDO_UID === undefined || owner === 0) return false;
  out.complain(
    `agent: ${home} belongs to another user (id ${owner}), whose gateway could not use what root writes there; start it as that user, by \`sudo -u '#${owner}'\` in place of \`sudo\`\n`,
  );
  return true;
}

/** Runs the daemon in this process until it ends. */
export async function runGateway(context: CommandContext): Promise<ExitCode> {
  if (refuseSudo(context)) return 1;
  const { runDaemon } = await import('../../runtime/daemon.ts');
  if (!hasFlag(context, 'example')) return runDaemon({ home: context.home, env: context.env, version: version() });
  const { makeExampleHome } = await import('../../runtime/system/example-home.ts');
  const example = await makeExampleHome(context.env);
  context.out.complain(example.greeting);
  return runDaemon({ home: example.home, env: context.env, version: version() });
}

/** Starts the daemon in the background and waits until it answers, or reports why it does not. */
export async function startGateway(context: CommandContext): Promise<ExitCode> {
  if (await runsAlready(context)) return 0;
  if (refuseSudo(context)) return 1;
  const started = await spawnGateway(context);
  if (started.noRoom !== undefined) {
    const { pid } = started.child;
    const why = `the gateway runs (pid ${pid}), but its disk takes no file (${started.noRoom})`;
    return refuse(context, `${why}; it accepts nothing until you make room, and \`kill ${pid}\` ends it`, 1);
  }
  // What a cancelled start has begun must not run unseen.
  const endCancelled = (code: number): void => {
    if (code === 130) started.child.kill();
  };
  process.once('exit', endCancelled);
  let status: GatewayStatus | undefined;
  try {
    for (let waitedMs = 0; waitedMs < startTimeoutMs && !started.isOver(); waitedMs += pollMs) {
      status = await statusOf(context);
      if (status !== undefined && reportStart(context, status)) return 0;
      await wait(pollMs);
    }
  } finally {
    process.off('exit', endCancelled);
  }
  if (status?.journal === journalOpening && !started.isOver()) {
    context.out.print(
      `The gateway runs (pid ${status.pid}); ${journalOpening}: ${agentOf(context.gateway)} gateway status\n`,
    );
    return 0;
  }
  const why = started.hasEnded() ? 'the gateway did not start' : unanswered(started.child.pid);
  const tail = started.ownLines().trimEnd().split('\n').slice(-keptLogLines).map(readableLine).join('\n');
  context.out.complain(
    `agent: ${why}; the end of ${gatewayLog(context.home)}:\n${tail}\nagent: \`agent doctor\` looks for the cause\n`,
  );
  return 1;
}

/** Asked anew each time: a home that is too deep has its socket where the gateway finds room for it. */
function connect({ home, env }: CommandContext): Promise<ControlClient | undefined> {
  return connectControl(placedPaths(home, env).socket, { greetMs });
}

/** Reports a gateway that runs; waits for the end of one that is stopping. */
async function runsAlready(context: CommandContext): Promise<boolean> {
  const running = await connect(context);
  if (running === undefined) return false;
  const { state, version: old } = await running.ask('gateway.status').catch((thrown: unknown) => {
    running.close();
    throw thrown;
  });
  if (isEnding.test(state)) {
    context.out.complain('The gateway is stopping; it is started again once it has ended.\n');
    await running.closed;
    return false;
  }
  running.close();
  context.out.print(
    old === version()
      ? 'The gateway is running already.\n'
      : withHomeNamed(
          context.gateway,
          `The gateway is running already, as version ${oneLine(old)}; \`agent gateway stop\`, then \`agent gateway\` or its service starts version ${version()}.\n`,
        ),
  );
  return true;
}

async function spawnGateway({ home, env }: CommandContext) {
  const paths = homePaths(home);
  await ensurePrivateFolder(paths.home);
  await ensurePrivateFolder(paths.logs);
  const logPath = gatewayLog(home);
  if ((statSync(logPath, { throwIfNoEntry: false })?.size ?? 0) > maxLogLength) renameSync(logPath, `${logPath}.1`);
  const log = openSync(logPath, 'a', 0o600);
  const before = fstatSync(log).size;
  const noRoom = refusalOf(paths.logs);
  const child = spawn(process.execPath, [...process.execArgv, process.argv[1] ?? '', 'gateway', 'run'], {
    detached: true,
    stdio: ['ignore', log, log],
    env: { ...env, AGENT_HOME: home, AGENT_BACKGROUND: '1' },
  });
  let hasEnded = false;
  const end = (): void => {
    hasEnded = true;
  };
  child.once('error', end);
  child.once('exit', end);
  closeSync(log);
  child.unref();
  const ownLines = (): string => readFileSync(logPath).subarray(before).toString('utf8');
  return {
    child,
    noRoom,
    ownLines,
    hasEnded: () => hasEnded,
    // Another start of this home may have been first; its gateway is waited for.
    isOver: () => hasEnded && !/\bgateway-(?:running|starting)\b/.test(ownLines()),
  };
}

/** Why the disk of a folder takes no file, as where it is full: the gateway's log there cannot have the reason. */
function refusalOf(folder: string): string | undefined {
  const probe = `${folder}/room`;
  try {
    writeFileSync(probe, '\n', { mode: 0o600 });
    return undefined;
  } catch (thrown) {
    return isDiskRefusal(thrown) ? causeOf(thrown) : undefined;
  } finally {
    rmSync(probe, { force: true });
  }
}

/** Undefined if no gateway answers: one that fails to listen may end before it does. */
async function statusOf(context: CommandContext): Promise<GatewayStatus | undefined> {
  const client = await connect(context);
  const status = await client?.ask('gateway.status').catch(() => undefined);
  client?.close();
  return status;
}

/** Reports what listens and what does not; returns false while the gateway is still starting. */
function reportStart(
  { out, gateway }: CommandContext,
  { state, pid, webhook, config, inspector, journal }: GatewayStatus,
): boolean {
  if (!/^(?:booting|up)\b/.test(state) || journal === journalOpening) return false;
  const { url, enabled, fault } = webhook;
  if (url === null && fault !== undefined) {
    out.print(`The gateway runs (pid ${pid}); webhooks do not.\n`);
    out.complain(`agent: ${oneLine(fault)}\n`);
    return true;
  }
  // The inspector's listener opens at the same time as the webhooks' one.
  const isPageOpening = inspector.enabled && inspector.url === null && inspector.fault === undefined;
  if ((url === null && enabled) || isPageOpening) return false;
  const faults = [
    config.fault,
    journal === 'ready' ? undefined : `nothing is accepted until the journal is repaired: ${journal}`,
    inspector.fault && `the inspector page is not served: ${inspector.fault}`,
  ];
  for (const one of faults) if (one !== undefined) out.complain(`agent: ${oneLine(one)}\n`);
  out.print(
    url === null
      ? `The gateway runs (pid ${pid}); webhooks are not enabled: ${agentOf(gateway)} gateway setup --enable\n`
      : `The gateway runs (pid ${pid}) and listens on ${url}\n`,
  );
  return true;
}

/** A gateway that cannot write its home runs without a socket until it can (DUR-3). */
export function unanswered(pid: number | undefined): string {
  return `the gateway runs (pid ${pid}) but has not answered for ${startTimeoutMs / 1_000} s; it continues to try, and \`kill ${pid}\` ends it`;
}

export async function stopGateway(context: CommandContext): Promise<ExitCode> {
  const client = await connectGateway(context.gateway).catch((thrown: unknown) => {
    if (thrown instanceof NotRunning && context.gateway.home !== undefined) return undefined;
    throw thrown;
  });
  // The message of other commands would have it started.
  if (client === undefined) return refuse(context, `the gateway of ${context.home} is not running`, 3);
  try {
    const { pid } = await client.ask('gateway.status');
    await client.ask('gateway.stop');
    await client.closed;
    // As it ends, Node writes its compile cache, and who copies the home would meet a file that changes.
    for (let waitedMs = 0; waitedMs < exitTimeoutMs && isRunning(pid); waitedMs += pollMs) await wait(pollMs);
  } finally {
    client.close();
  }
  context.out.print('The gateway has stopped.\n');
  return 0;
}

/** What waits is on disk meanwhile. Returns once the new process answers. */
export async function restartGateway(context: CommandContext): Promise<ExitCode> {
  const client = await connect(context);
  if (client === undefined) return startGateway(context);
  if (refuseSudo(context)) return 1;
  let status: GatewayStatus;
  try {
    // The running gateway keeps the last good configuration; a new one would not have it.
    await client.ask('gateway.reload').catch((thrown: unknown) => {
      if (thrown instanceof ConnectionLost) throw thrown;
    });
    status = await client.ask('gateway.status');
  } finally {
    client.close();
  }
  const { pid, background, config } = status;
  if (background !== true) {
    // Nor does a gateway of an earlier version say so.
    const how =
      'restart it as it was started: its service, such as by `systemctl --user restart agent-gateway`, or by `agent gateway stop`, then `agent gateway`';
    const words = `the gateway (pid ${pid}) is not known to run in the background; ${how}`;
    return refuse(context, withHomeNamed(context.gateway, words), 1);
  }
  if (!config.in_force) {
    const why = `the configuration on disk has errors, and the running gateway has the last good one: ${oneLine(config.fault ?? '')}`;
    return refuse(context, `${why}; nothing was stopped`, 1);
  }
  const stopped = await stopGateway(context);
  return stopped === 0 ? startGateway(context) : stopped;
}

export async function reloadGateway(context: CommandContext): Promise<ExitCode> {
  const { restart_for: keys } = await context.ask('gateway.reload');
  context.out.print('The configuration was read again.\n');
  if (keys !== undefined) context.out.print(`${withHomeNamed(context.gateway, atNextStart(keys))}.\n`);
  return 0;
}

function atNextStart(keys: readonly string[]): string {
  return `${keys.join(', ')}: the new value takes effect at the next start (\`agent gateway restart\`, or restart its service)`;
}

export async function migrateGateway(context: CommandContext): Promise<ExitCode> {
  const { from, to } = await context.ask('gateway.migrate');
  context.out.print(
    from === to
      ? `The tables are of version ${to} already.\n`
      : `The tables are of version ${to} now${from === 0 ? '' : `; they were of version ${from}`}.\n`,
  );
  return 0;
}

export async function copyJournal(context: CommandContext): Promise<ExitCode> {
  const to = textFlag(context, 'to');
  if (to !== 'postgres' && to !== 'lmdb') return refuse(context, 'say where to: --to postgres or --to lmdb', 2);
  const copied = await context.ask('journal.copy', { to });
  const { records, claims, documents } = copied;
  const files = documents === 0 ? '' : ` ${documents} documents were written into the home.`;
  return show(
    context,
    copied,
    () =>
      `${records} records and ${claims} claims are in ${to} now, compared one by one.${files}\nSet gateway.journal to "${to}" in config.yaml before the gateway starts.\n`,
  );
}

const labelWidth = 11;

/** Lists the gateways of the database. */
export async function showNodes(context: CommandContext): Promise<ExitCode> {
  const rows = await context.ask('gateway.nodes');
  const cells = ({ node, leader, self, silent_ms, status, error }: NodeRow): string[] => [
    oneLine(node) + (self ? ' (this one)' : ''),
    leader ? 'leader' : '',
    status === undefined
      ? `no answer for ${Math.round(silent_ms / 1_000)} s`
      : stateWords(status.state.split('.').at(-1) ?? ''),
    status?.version ?? '',
    status?.webhook.url ?? '',
    error === undefined ? `${status?.actors.agentRun ?? 0} runs` : oneLine(error),
  ];
  const head = ['GATEWAY', 'ROLE', 'STATE', 'VERSION', 'WEBHOOKS', 'WORK'];
  return show(context, rows, () => table(context.out, head, rows.map(cells)));
}

export async function showStatus(context: CommandContext): Promise<ExitCode> {
  const status = await context.ask('gateway.status');
  return show(context, status, () => withHomeNamed(context.gateway, formatStatus(status)));
}

function formatStatus(status: GatewayStatus): string {
  const { webhook, config, inspector } = status;
  const counts = (value: Readonly<Record<string, number>>): string =>
    Object.entries(value)
      .map(([name, count]) => `${count} ${stateWords(name)}`)
      .join(', ') || 'none';
  const place = ({ url, enabled }: ListenerStatus): string =>
    url ?? (enabled ? 'enabled, does not listen' : 'not enabled');
  const nowMs = Date.now();
  const up = ago(new Date(nowMs - status.uptime_seconds * 1_000).toISOString(), nowMs);
  const rows: readonly (readonly [label: string, ...lines: readonly (string | undefined)[]])[] = [
    [
      'pid',
      `${status.pid}, version ${status.version}, up ${up}`,
      status.version === version()
        ? undefined
        : `this command is of version ${version()}: \`agent gateway restart\`, or restart its service`,
    ],
    ['home', status.home],
    [
      'config',
      !config.in_force
        ? 'the one on disk is refused; the last good one stays in force'
        : config.fault === undefined
          ? 'in force as it is on disk'
          : 'in force, but sections with findings take their defaults',
      // An HTTP server that cannot listen is the fault of both rows; show it once.
      config.fault === webhook.fault ? undefined : config.fault,
      status.restart_for && atNextStart(status.restart_for),
    ],
    ['webhook', place(webhook), webhook.fault],
    ['inspector', place(inspector), inspector.fault],
    ['journal', status.journal],
    ['servers', counts(status.servers)],
    ...(status.targets === undefined ? [] : [['targets', counts(status.targets)] as const]),
    ['actors', counts(Object.fromEntries(Object.entries(status.actors).filter(([name]) => !name.endsWith('Pool'))))],
  ];
  return rows
    .map(([label, ...lines]) => {
      const texts = lines.filter((one) => one !== undefined).map(oneLine);
      return `${label.padEnd(labelWidth)}${texts.join(`\n${' '.repeat(labelWidth)}`)}\n`;
    })
    .join('');
}
