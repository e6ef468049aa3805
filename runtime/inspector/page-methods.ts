/**
 * Decides whether the inspector page may call a method, and whether it needs a recently opened link for it: by the row of
 * the method in `runtime/control/methods.ts`, or by the parameters. A new command that changes something needs one.
 * @see SEC-1 and INS-2 in docs/specification.md
 */

import { isJsonObject, type JsonObject } from '../../machines/base/json.ts';
import { variablesIn } from '../../machines/config/interpolate.ts';
import { readInstallLink } from '../../machines/mcp/install-link.ts';
import { loweredGuards } from '../../machines/mcp/link-guards.ts';
import { type PageAccess, usualPageAccess } from '../control/methods.ts';

const rules: Readonly<Record<string, (params: JsonObject) => PageAccess>> = {
  // The rule remains after the session has ended.
  'approvals.answer': ({ remember }) => (remember === 'always' ? 'fresh' : 'open'),
  // A text from outside could probe whether a file or variable exists on this machine.
  'config.check': ({ text }) => (text === undefined ? 'open' : 'terminalOnly'),
  // The context becomes a part of the prompt.
  'cron.run': ({ context }) => (context === undefined ? 'open' : 'fresh'),
  'link.add': ({ url }) => (startsNothing(entryOf(url)) ? 'open' : 'fresh'),
  'mcp.add': ({ entry }) => (startsNothing(entry) ? 'open' : 'fresh'),
  'mcp.edit': ({ changes }) => (isHarmless(changes) ? 'open' : 'fresh'),
  // As for a text of the configuration: it says whether `.env` has a value.
  'mcp.importable': ({ block }) => (block === undefined ? 'open' : 'fresh'),
  // A test runs the entry, as if it were configured.
  'mcp.test': ({ entry, changes }) => (entry === undefined && changes === undefined ? 'open' : 'fresh'),
  'webhook.delivery': ({ handshake }) => (handshake === true ? 'terminalOnly' : 'open'),
  // The payload becomes a part of the prompt.
  'webhook.replay': ({ payload, event, to }) =>
    payload === undefined && event === undefined && to === undefined ? 'open' : 'fresh',
  // Without `checks_only` it starts a run.
  'webhook.test': ({ checks_only }) => (checks_only === true ? 'open' : 'fresh'),
};

export function pageAccessOf(method: string, params: JsonObject): PageAccess {
  const rule = Object.hasOwn(rules, method) ? rules[method] : undefined;
  return rule === undefined ? usualPageAccess(method) : rule(params);
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
