/**
 * What is known of each method of the control socket without its code: whether the command line can run it without a
 * daemon, and what it does. Light, because the command line asks before it loads that code, so that a command of the daemon
 * reports at once that none runs.
 * @see CLI-2, CLI-3 and SEC-1 in docs/specification.md
 */

import type { Method } from './contract.ts';

/** For the inspector's page. `fresh`: only while the session's link was opened in the last minutes. */
export type PageAccess = 'open' | 'fresh' | 'terminalOnly';

const daemon = (does: string, page?: PageAccess) => ({ does, page, isOfHome: false, hasDocuments: false });
/** Needs no daemon. */
const home = (does: string, page?: PageAccess) => ({ does, page, isOfHome: true, hasDocuments: false });
/** The same, and uses the subscriptions, jobs or credentials, which may be in a database. */
const documents = (does: string, page?: PageAccess) => ({ ...home(does, page), hasDocuments: true });

/**
 * `reads`: changes nothing. `calls`: has its own record. Otherwise the change, as the audit log reports it. The page's access
 * does not depend on the parameters unless `runtime/inspector/page-methods.ts` says so.
 */
const methods: Readonly<Record<Method, ReturnType<typeof home>>> = {
  'approvals.answer': daemon('answered a question'),
  'approvals.answered': daemon('reads'),
  'approvals.list': daemon('reads'),
  'approvals.show': daemon('reads'),
  'approvals.watch': daemon('reads'),
  'audit.list': home('reads'),
  'chat.cancel': daemon('stopped a chat turn'),
  'chat.new': daemon('began a chat anew'),
  'chat.open': daemon('calls'),
  'chat.say': daemon('calls'),
  'chat.tools': daemon('reads'),
  'config.check': home('reads'),
  'config.hints': home('reads'),
  'config.schema': home('reads'),
  'config.show': home('reads'),
  'config.source': home('reads'),
  'cron.add': documents('added a job'),
  'cron.edit': documents('edited a job'),
  'cron.list': documents('reads'),
  'cron.pause': documents('paused a job', 'open'),
  'cron.remove': documents('removed a job'),
  'cron.resume': documents('resumed a job', 'open'),
  'cron.run': daemon('ran a job'),
  'cron.show': documents('reads'),
  'deliveries.confirm': daemon('confirmed deliveries', 'open'),
  'deliveries.drop': daemon('dropped deliveries', 'open'),
  'deliveries.list': daemon('reads'),
  'deliveries.progress': daemon('reads'),
  'deliveries.retry': daemon('retried deliveries', 'open'),
  'deliveries.show': daemon('reads'),
  'deliveries.targets': daemon('reads'),
  'events.curl': daemon('reads'),
  'events.follow': daemon('reads'),
  'events.open': daemon('reads'),
  'events.search': daemon('reads'),
  'events.replayAll': daemon('replayed events', 'open'),
  'failures.groups': daemon('reads'),
  'failures.list': daemon('reads'),
  'gateway.database': daemon('reads'),
  'gateway.migrate': home('migrated the tables of the journal', 'terminalOnly'),
  'gateway.nodes': daemon('reads'),
  'gateway.reload': daemon('reloaded the configuration'),
  'gateway.status': daemon('reads'),
  'gateway.stop': daemon('stopped the gateway'),
  'inspect.chart': daemon('reads'),
  'inspect.endSessions': home('ended the sessions of the page', 'terminalOnly'),
  'inspect.follow': daemon('reads'),
  'inspect.link': daemon('made a link to the page', 'terminalOnly'),
  'inspect.show': daemon('reads'),
  'inspect.tree': daemon('reads'),
  'inspect.watch': daemon('reads'),
  'inspect.why': daemon('reads'),
  'journal.copy': home('copied the journal', 'terminalOnly'),
  'link.add': home('added a server by a link'),
  'link.read': home('reads'),
  'mcp.add': home('added a server'),
  'mcp.call': daemon('calls', 'open'),
  'mcp.calls': daemon('reads'),
  'mcp.disable': home('disabled a server', 'open'),
  'mcp.edit': home('edited a server'),
  'mcp.enable': home('enabled a server'),
  'mcp.gateways': daemon('reads'),
  'mcp.getPrompt': daemon('calls', 'open'),
  'mcp.import': home('imported servers'),
  'mcp.importable': home('reads'),
  'mcp.instructions': daemon('reads'),
  'mcp.list': daemon('reads'),
  'mcp.login': daemon('logged in at a server', 'open'),
  'mcp.loginPaste': daemon('gave a login its address', 'open'),
  'mcp.logout': daemon('logged out of a server', 'open'),
  'mcp.logs': daemon('reads'),
  'mcp.oauthServers': daemon('reads'),
  'mcp.prompts': daemon('reads'),
  'mcp.readResource': daemon('calls', 'open'),
  'mcp.reconnect': daemon('reconnected a server', 'open'),
  'mcp.remove': home('removed a server'),
  'mcp.resourceTemplates': daemon('reads'),
  'mcp.resources': daemon('reads'),
  'mcp.show': home('reads'),
  'mcp.test': documents('tried a server'),
  'mcp.tools': daemon('reads'),
  'mcp.watch': daemon('reads'),
  'overview.read': daemon('reads'),
  'overview.watch': daemon('reads'),
  'runs.cancel': daemon('cancelled a run', 'open'),
  'runs.list': home('reads'),
  'runs.show': home('reads'),
  'setup.agent': home('chose the agent program'),
  'setup.read': home('reads'),
  'setup.target': home('set up a target'),
  'setup.webhooks': home('enabled webhooks'),
  'webhook.deliveries': daemon('reads'),
  'webhook.delivery': daemon('reads'),
  'webhook.disable': documents('disabled a route', 'open'),
  'webhook.doctor': daemon('reads'),
  'webhook.edit': documents('edited a route'),
  'webhook.enable': documents('enabled a route', 'open'),
  'webhook.hold': documents('held a route', 'open'),
  'webhook.list': documents('reads'),
  'webhook.release': documents('released a route', 'open'),
  'webhook.remove': documents('removed a route'),
  'webhook.replay': daemon('replayed an event'),
  'webhook.samples': documents('reads'),
  'webhook.show': documents('reads'),
  'webhook.subscribe': documents('subscribed a route'),
  'webhook.test': daemon('tested a route'),
};

/** Whether the command line can run it without a daemon. */
export function isOfHome(method: string): boolean {
  return factsOf(method)?.isOfHome === true;
}

/** Whether it uses documents that may be in a database. */
export function usesDocuments(method: string): boolean {
  return factsOf(method)?.hasDocuments === true;
}

/** Open if it only reads, and otherwise closed to an old session, unless its row says more. */
export function usualPageAccess(method: string): PageAccess {
  return factsOf(method)?.page ?? (onlyReads(method) ? 'open' : 'fresh');
}

/** Whether a method changes nothing; false for an unknown method. */
export function onlyReads(method: string): boolean {
  return factsOf(method)?.does === 'reads';
}

/** What a method changes, in words; undefined for one that changes nothing, has its own record, or is unknown. */
export function changeBy(method: string): string | undefined {
  const does = factsOf(method)?.does;
  return does === 'reads' || does === 'calls' ? undefined : does;
}

function factsOf(method: string): ReturnType<typeof home> | undefined {
  return Object.hasOwn(methods, method) ? methods[method as Method] : undefined;
}
