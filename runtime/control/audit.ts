/**
 * The audit log: who changed what through the command line or the page, and how that ended, as lines of JSON in
 * `logs/audit.log`. A line names what was changed and never with which text: a prompt, a secret or a payload is in none.
 * What agents do has its own records, so a run's calls are not here. Knows which methods only read, too.
 * @see SEC-1 in docs/specification.md
 */

import { createLineLog, type LineLog, readLog } from '../../actors/line-log.ts';
import { causeOf } from '../../machines/base/fault.ts';
import { cut, isJsonObject, type Json, type JsonObject } from '../../machines/base/json.ts';
import { readJson } from '../../machines/base/read-json.ts';
import type { AuditRow, Method } from './contract.ts';

/** Who asks: a person at a terminal, or on the page. */
export type Asker = Pick<AuditRow, 'who' | 'from'>;

/** What the daemon's own listeners say of those who reach the socket: all are the home's owner. */
export const atTerminal: Asker = { who: 'owner', from: 'terminal' };

export interface AuditLog {
  /** Writes down what a request came to, unless its method only reads. `thrown`: why it was refused or failed. */
  add(asker: Asker, request: { readonly method: string; readonly params: JsonObject }, thrown?: unknown): void;
  /** The same for one who may only read, once an hour by name and method: it must not push the rows of others out. */
  addReader(asker: Asker, method: string, thrown: unknown): void;
  /** Resolves when what was written down is on the disk, or cannot be. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

/** Whether a method changes nothing. One that is unknown may. */
export function onlyReads(method: string): boolean {
  return Object.hasOwn(kinds, method) && kinds[method as Method] === 'reads';
}

const name = 'audit';
const longestValue = 200;
const longestList = 20;
const readerAgainMs = 3_600_000;

/** What is said of a method's parameters: names, ids and choices, no text that somebody wrote to an agent. */
const named = new Set([
  ...['id', 'ids', 'name', 'names', 'server', 'route', 'job', 'target', 'session', 'program', 'profile', 'grant'],
  ...['remember', 'reason', 'force', 'to', 'dry', 'sample', 'checks_only', 'key', 'status', 'flow', 'as', 'read_only'],
]);

/** `reads`: changes nothing. `calls`: has a record of its own. Otherwise what the line says was done. */
const kinds: Readonly<Record<Method, string>> = {
  'approvals.answer': 'answered a question',
  'approvals.answered': 'reads',
  'approvals.list': 'reads',
  'approvals.show': 'reads',
  'approvals.watch': 'reads',
  'audit.list': 'reads',
  'chat.cancel': 'stopped a chat turn',
  'chat.new': 'began a chat anew',
  'chat.open': 'calls',
  'chat.say': 'calls',
  'chat.tools': 'reads',
  'config.check': 'reads',
  'config.hints': 'reads',
  'config.schema': 'reads',
  'config.show': 'reads',
  'config.source': 'reads',
  'cron.add': 'added a job',
  'cron.list': 'reads',
  'cron.pause': 'paused a job',
  'cron.remove': 'removed a job',
  'cron.resume': 'resumed a job',
  'cron.run': 'ran a job',
  'cron.show': 'reads',
  'deliveries.confirm': 'confirmed deliveries',
  'deliveries.drop': 'dropped deliveries',
  'deliveries.list': 'reads',
  'deliveries.progress': 'reads',
  'deliveries.retry': 'retried deliveries',
  'deliveries.show': 'reads',
  'deliveries.targets': 'reads',
  'events.curl': 'reads',
  'events.follow': 'reads',
  'events.open': 'reads',
  'events.search': 'reads',
  'failures.groups': 'reads',
  'failures.list': 'reads',
  'gateway.migrate': 'migrated the tables of the journal',
  'gateway.nodes': 'reads',
  'gateway.reload': 'reloaded the configuration',
  'gateway.status': 'reads',
  'gateway.stop': 'stopped the gateway',
  'inspect.chart': 'reads',
  'inspect.endSessions': 'ended the sessions of the page',
  'inspect.follow': 'reads',
  'inspect.link': 'made a link to the page',
  'inspect.show': 'reads',
  'inspect.tree': 'reads',
  'inspect.watch': 'reads',
  'inspect.why': 'reads',
  'journal.copy': 'copied the journal',
  'link.add': 'added a server by a link',
  'link.read': 'reads',
  'mcp.add': 'added a server',
  'mcp.call': 'calls',
  'mcp.calls': 'reads',
  'mcp.disable': 'disabled a server',
  'mcp.edit': 'edited a server',
  'mcp.enable': 'enabled a server',
  'mcp.getPrompt': 'calls',
  'mcp.import': 'imported servers',
  'mcp.importable': 'reads',
  'mcp.instructions': 'reads',
  'mcp.list': 'reads',
  'mcp.login': 'logged in at a server',
  'mcp.loginPaste': 'gave a login its address',
  'mcp.logs': 'reads',
  'mcp.oauthServers': 'reads',
  'mcp.prompts': 'reads',
  'mcp.readResource': 'calls',
  'mcp.reconnect': 'reconnected a server',
  'mcp.remove': 'removed a server',
  'mcp.resourceTemplates': 'reads',
  'mcp.resources': 'reads',
  'mcp.show': 'reads',
  'mcp.test': 'tried a server',
  'mcp.tools': 'reads',
  'mcp.watch': 'reads',
  'overview.read': 'reads',
  'overview.watch': 'reads',
  'runs.cancel': 'cancelled a run',
  'runs.list': 'reads',
  'runs.show': 'reads',
  'setup.agent': 'chose the agent program',
  'setup.read': 'reads',
  'setup.target': 'set up a target',
  'setup.webhooks': 'enabled webhooks',
  'webhook.deliveries': 'reads',
  'webhook.delivery': 'reads',
  'webhook.disable': 'disabled a route',
  'webhook.doctor': 'reads',
  'webhook.edit': 'edited a route',
  'webhook.enable': 'enabled a route',
  'webhook.list': 'reads',
  'webhook.remove': 'removed a route',
  'webhook.replay': 'replayed an event',
  'webhook.samples': 'reads',
  'webhook.show': 'reads',
  'webhook.subscribe': 'subscribed a route',
  'webhook.test': 'tested a route',
};

/** @param folder of the home's logs */
export function createAuditLog(folder: string, redact: (text: string) => string, nowMs = Date.now): AuditLog {
  let log: LineLog | undefined;
  const toldMs = new Map<string, number>();
  const self: AuditLog = {
    add({ who, from }, { method, params }, thrown) {
      const what = Object.hasOwn(kinds, method) ? kinds[method as Method] : undefined;
      if (what === undefined || what === 'reads' || what === 'calls') return;
      // Only whether a server could be added, or changed so.
      if (params.dry === true && method.startsWith('mcp.')) return;
      const row: AuditRow = {
        at: new Date(nowMs()).toISOString(),
        ...{ who, from, what, method, on: namedOf(params) },
        ...(thrown === undefined ? {} : { refused: cut(causeOf(thrown), longestValue) }),
      };
      log ??= createLineLog({ folder, name, redact, maxBytes: 4 * 1_048_576 });
      log.write(Buffer.from(`${JSON.stringify(row)}\n`));
    },
    addReader(asker, method, thrown) {
      const about = `${asker.who} ${method}`;
      if (!Object.hasOwn(kinds, method) || nowMs() - (toldMs.get(about) ?? 0) < readerAgainMs) return;
      toldMs.set(about, nowMs());
      self.add(asker, { method, params: {} }, thrown);
    },
    settled: async () => log?.settled(),
    close: async () => log?.close(),
  };
  return self;
}

function namedOf(params: JsonObject): JsonObject {
  const entries = Object.entries(params).filter(
    ([key, value]) => named.has(key) && (key !== 'force' || value === true),
  );
  return Object.fromEntries(entries.map(([key, value]) => [key, shortened(value)]));
}

function shortened(value: Json): Json {
  if (Array.isArray(value)) return value.slice(0, longestList).map((one) => cut(String(one), longestValue));
  if (isJsonObject(value)) return {};
  return typeof value === 'string' ? cut(value, longestValue) : value;
}

/** The rows since a time that have the words, newest first, at most so many; the rest of the file is not looked at. */
export async function readAudit(
  folder: string,
  { sinceMs, words, limit }: { readonly sinceMs: number; readonly words: string; readonly limit: number },
): Promise<readonly AuditRow[]> {
  const rows: AuditRow[] = [];
  const lines = await readLog(folder, name, Number.MAX_SAFE_INTEGER);
  for (let at = lines.length - 1; at >= 0 && rows.length < limit; at -= 1) {
    const row = rowIn(lines[at] ?? '');
    if (row === undefined) continue;
    if (Date.parse(row.at) < sinceMs) break;
    if (words === '' || JSON.stringify(row).toLowerCase().includes(words)) rows.push(row);
  }
  return rows;
}

function rowIn(line: string): AuditRow | undefined {
  const row = readJson(line);
  if (!isJsonObject(row) || typeof row.at !== 'string') return undefined;
  const { at, who, from, what, method, on, refused } = row;
  return {
    ...{ at, who: String(who), from: from === 'page' ? 'page' : 'terminal', what: String(what) },
    ...{ method: String(method), on: isJsonObject(on) ? on : {} },
    ...(typeof refused === 'string' ? { refused } : {}),
  };
}
