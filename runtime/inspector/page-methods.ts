/**
 * Decides which methods the inspector page may call, and which of them need a recently opened link. A method that is not
 * listed needs one, so a new command is closed to an old session until it is listed here.
 * @see SEC-1 and INS-2 in docs/specification.md
 */

import { isJsonObject, type JsonObject } from '../../machines/base/json.ts';
import { variablesIn } from '../../machines/config/interpolate.ts';
import { readInstallLink } from '../../machines/mcp/install-link.ts';
import { loweredGuards } from '../../machines/mcp/link-guards.ts';

/** `fresh`: only while the session's link was opened in the last minutes. */
export type PageAccess = 'open' | 'fresh' | 'terminalOnly';

type Rule = PageAccess | ((params: JsonObject) => PageAccess);

const rules: Readonly<Record<string, Rule>> = {
  ...all('approvals', ['answered', 'list', 'show', 'watch']),
  // The rule remains after the session has ended.
  'approvals.answer': ({ remember }) => (remember === 'always' ? 'fresh' : 'open'),
  'audit.list': 'open',
  // A text from outside could probe whether a file or variable exists on this machine.
  'config.check': ({ text }) => (text === undefined ? 'open' : 'terminalOnly'),
  ...all('config', ['hints', 'schema', 'show', 'source']),
  ...all('cron', ['list', 'pause', 'resume', 'show']),
  // The context becomes a part of the prompt.
  'cron.run': ({ context }) => (context === undefined ? 'open' : 'fresh'),
  ...all('deliveries', ['confirm', 'drop', 'list', 'progress', 'retry', 'show', 'targets']),
  ...all('events', ['curl', 'follow', 'open', 'search']),
  ...all('failures', ['groups', 'list']),
  ...all('gateway', ['database', 'nodes', 'status']),
  'gateway.migrate': 'terminalOnly',
  ...all('inspect', ['chart', 'follow', 'show', 'tree', 'watch', 'why']),
  'inspect.link': 'terminalOnly',
  'inspect.endSessions': 'terminalOnly',
  'journal.copy': 'terminalOnly',
  'link.read': 'open',
  'link.add': ({ url }) => (startsNothing(entryOf(url)) ? 'open' : 'fresh'),
  ...all('mcp', ['call', 'calls', 'disable', 'getPrompt', 'importable', 'instructions', 'list', 'login']),
  ...all('mcp', ['loginPaste', 'logs', 'oauthServers', 'prompts', 'readResource', 'reconnect', 'resourceTemplates']),
  ...all('mcp', ['resources', 'show', 'tools', 'watch']),
  'mcp.add': ({ entry }) => (startsNothing(entry) ? 'open' : 'fresh'),
  'mcp.edit': ({ changes }) => (isHarmless(changes) ? 'open' : 'fresh'),
  // A test runs the entry, as if it were configured.
  'mcp.test': ({ entry, changes }) => (entry === undefined && changes === undefined ? 'open' : 'fresh'),
  ...all('overview', ['read', 'watch']),
  // The other `setup` methods start a program, open a port or store a credential.
  'setup.read': 'open',
  ...all('runs', ['cancel', 'list', 'show']),
  ...all('webhook', ['deliveries', 'disable', 'doctor', 'enable', 'list', 'samples', 'show']),
  'webhook.delivery': ({ handshake }) => (handshake === true ? 'terminalOnly' : 'open'),
  // The payload becomes a part of the prompt.
  'webhook.replay': ({ payload, event, to }) =>
    payload === undefined && event === undefined && to === undefined ? 'open' : 'fresh',
  // Without `checks_only` it starts a run.
  'webhook.test': ({ checks_only }) => (checks_only === true ? 'open' : 'fresh'),
};

export function pageAccessOf(method: string, params: JsonObject): PageAccess {
  const rule = Object.hasOwn(rules, method) ? rules[method] : undefined;
  return typeof rule === 'function' ? rule(params) : (rule ?? 'fresh');
}

function all(group: string, names: readonly string[]): Record<string, Rule> {
  return Object.fromEntries(names.map((name) => [`${group}.${name}`, 'open']));
}

/** Whether an entry is a server at an address, lowers no guard, and is sent no value of this computer. */
function startsNothing(entry: unknown): boolean {
  if (!isJsonObject(entry) || typeof entry.url !== 'string' || entry.command !== undefined) return false;
  return loweredGuards(entry).length === 0 && variablesIn(entry).length === 0;
}

/** Keys that change neither what runs, nor its address, nor what it may do. */
const harmless: ReadonlySet<string> = new Set([
  ...['connect_timeout', 'idle_timeout_seconds', 'keepalive_interval', 'lazy', 'max_lifetime_seconds', 'timeout'],
]);

function isHarmless(changes: unknown): boolean {
  return isJsonObject(changes) && Object.keys(changes).every((key) => harmless.has(key));
}

/** The entry that a link adds; undefined if it is no link. */
function entryOf(url: unknown): JsonObject | undefined {
  const reading = readInstallLink(typeof url === 'string' ? url : '');
  return reading.kind === 'link' ? reading.link.config : undefined;
}
