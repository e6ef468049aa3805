/**
 * Decides which methods the inspector page may call, and for which its session needs a link that was opened just now. A
 * method that is not listed needs one, so that a new command is closed to an old session until it is listed here.
 * @see SEC-1 and INS-2 in docs/specification.md
 */

import type { JsonObject } from '../../machines/base/json.ts';
import { readInstallLink } from '../../machines/mcp/install-link.ts';

/** `fresh`: only while the session's link was opened in the last minutes. */
export type PageAccess = 'open' | 'fresh' | 'terminalOnly';

type Rule = PageAccess | ((params: JsonObject) => PageAccess);

const rules: Readonly<Record<string, Rule>> = {
  ...all('approvals', ['answer', 'list', 'show', 'watch']),
  ...all('config', ['check', 'hints', 'schema', 'show']),
  ...all('cron', ['list', 'pause', 'resume', 'show']),
  // The context is a part of the prompt.
  'cron.run': ({ context }) => (context === undefined ? 'open' : 'fresh'),
  ...all('deliveries', ['confirm', 'drop', 'list', 'progress', 'retry', 'show', 'targets']),
  ...all('events', ['curl', 'follow', 'open', 'search']),
  ...all('failures', ['groups', 'list']),
  'gateway.status': 'open',
  ...all('inspect', ['chart', 'follow', 'show', 'tree', 'watch', 'why']),
  'inspect.link': 'terminalOnly',
  'inspect.endSessions': 'terminalOnly',
  'link.read': 'open',
  // A server at an address starts no program.
  'link.add': ({ url }) => (namesAddress(url) ? 'open' : 'fresh'),
  ...all('mcp', ['call', 'getPrompt', 'instructions', 'list', 'login', 'loginPaste', 'logs', 'oauthServers']),
  ...all('mcp', ['prompts', 'readResource', 'reconnect', 'resourceTemplates', 'resources', 'tools', 'watch']),
  // An entry that is not configured would run its command without a question; the page adds one by its link.
  'mcp.test': ({ entry }) => (entry === undefined ? 'open' : 'terminalOnly'),
  ...all('runs', ['cancel', 'list', 'show']),
  ...all('webhook', ['deliveries', 'delivery', 'doctor', 'list', 'samples', 'show']),
  // A payload is a part of the prompt.
  'webhook.replay': ({ payload, event, to }) =>
    payload === undefined && event === undefined && to === undefined ? 'open' : 'fresh',
};

export function pageAccessOf(method: string, params: JsonObject): PageAccess {
  const rule = Object.hasOwn(rules, method) ? rules[method] : undefined;
  return typeof rule === 'function' ? rule(params) : (rule ?? 'fresh');
}

function all(group: string, names: readonly string[]): Record<string, Rule> {
  return Object.fromEntries(names.map((name) => [`${group}.${name}`, 'open']));
}

function namesAddress(url: unknown): boolean {
  const reading = readInstallLink(typeof url === 'string' ? url : '');
  return reading.kind === 'link' && reading.link.config.command === undefined;
}
