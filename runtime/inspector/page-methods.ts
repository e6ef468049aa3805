/**
 * Decides which methods the inspector page may call, and which of them need a recently opened link: those that change
 * something and are not listed here. So a new command that does is closed to an old session.
 * @see SEC-1 and INS-2 in docs/specification.md
 */

import { isJsonObject, type JsonObject } from '../../machines/base/json.ts';
import { variablesIn } from '../../machines/config/interpolate.ts';
import { readInstallLink } from '../../machines/mcp/install-link.ts';
import { loweredGuards } from '../../machines/mcp/link-guards.ts';
import { onlyReads } from '../control/methods.ts';

/** `fresh`: only while the session's link was opened in the last minutes. */
export type PageAccess = 'open' | 'fresh' | 'terminalOnly';

type Rule = PageAccess | ((params: JsonObject) => PageAccess);

const rules: Readonly<Record<string, Rule>> = {
  // The rule remains after the session has ended.
  'approvals.answer': ({ remember }) => (remember === 'always' ? 'fresh' : 'open'),
  // A text from outside could probe whether a file or variable exists on this machine.
  'config.check': ({ text }) => (text === undefined ? 'open' : 'terminalOnly'),
  'cron.pause': 'open',
  'cron.resume': 'open',
  // The context becomes a part of the prompt.
  'cron.run': ({ context }) => (context === undefined ? 'open' : 'fresh'),
  'deliveries.confirm': 'open',
  'deliveries.drop': 'open',
  'deliveries.retry': 'open',
  'gateway.migrate': 'terminalOnly',
  'inspect.link': 'terminalOnly',
  'inspect.endSessions': 'terminalOnly',
  'journal.copy': 'terminalOnly',
  'link.add': ({ url }) => (startsNothing(entryOf(url)) ? 'open' : 'fresh'),
  'mcp.add': ({ entry }) => (startsNothing(entry) ? 'open' : 'fresh'),
  'mcp.call': 'open',
  'mcp.disable': 'open',
  'mcp.edit': ({ changes }) => (isHarmless(changes) ? 'open' : 'fresh'),
  'mcp.getPrompt': 'open',
  // As for a text of the configuration: it says whether `.env` has a value.
  'mcp.importable': ({ block }) => (block === undefined ? 'open' : 'fresh'),
  'mcp.login': 'open',
  'mcp.loginPaste': 'open',
  'mcp.logout': 'open',
  'mcp.readResource': 'open',
  'mcp.reconnect': 'open',
  // A test runs the entry, as if it were configured.
  'mcp.test': ({ entry, changes }) => (entry === undefined && changes === undefined ? 'open' : 'fresh'),
  'events.replayAll': 'open',
  'runs.cancel': 'open',
  'webhook.delivery': ({ handshake }) => (handshake === true ? 'terminalOnly' : 'open'),
  'webhook.disable': 'open',
  'webhook.enable': 'open',
  'webhook.hold': 'open',
  'webhook.release': 'open',
  // The payload becomes a part of the prompt.
  'webhook.replay': ({ payload, event, to }) =>
    payload === undefined && event === undefined && to === undefined ? 'open' : 'fresh',
  // Without `checks_only` it starts a run.
  'webhook.test': ({ checks_only }) => (checks_only === true ? 'open' : 'fresh'),
};

export function pageAccessOf(method: string, params: JsonObject): PageAccess {
  const rule = Object.hasOwn(rules, method) ? rules[method] : undefined;
  return typeof rule === 'function' ? rule(params) : (rule ?? (onlyReads(method) ? 'open' : 'fresh'));
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

function entryOf(url: unknown): JsonObject | undefined {
  const reading = readInstallLink(typeof url === 'string' ? url : '');
  return reading.kind === 'link' ? reading.link.config : undefined;
}
