/**
 * The methods that need a home and no daemon. The command line asks here before it loads their code, so that a command of
 * the daemon says at once that none runs.
 * @see CLI-2 in docs/specification.md
 */

export const homeMethods: ReadonlySet<string> = new Set([
  'webhook.list',
  'webhook.samples',
  'webhook.show',
  'webhook.subscribe',
  'webhook.remove',
  'config.check',
  'config.hints',
  'config.schema',
  'config.show',
  'config.source',
  'mcp.add',
  'mcp.disable',
  'mcp.edit',
  'mcp.enable',
  'mcp.import',
  'mcp.importable',
  'mcp.remove',
  'mcp.show',
  'mcp.test',
  'cron.list',
  'cron.show',
  'cron.add',
  'cron.pause',
  'cron.resume',
  'cron.remove',
  'setup.agent',
  'setup.read',
  'setup.target',
  'setup.webhooks',
  'link.read',
  'link.add',
  'inspect.endSessions',
  'runs.list',
  'runs.show',
]);
