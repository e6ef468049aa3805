import t from 'tap';
import { hintsOf } from '../../../machines/config/hints.ts';
import { readText } from '../../support/read-config.ts';

const hints = (
  routes: string,
  servers = '{off: {command: x, enabled: false}, files: {command: x}}',
  runner = 'model',
) => {
  const { settings } = readText(
    `agent: {runner: ${runner}, command: [a]}\nmcp_servers: ${servers}\nplatforms: {webhook: {secret: long-enough-secret, routes: ${routes}}}\n`,
  );
  return hintsOf(settings, settings.webhook.routes);
};

t.test('CFG-2 · DIS-5 · routes that lend their runs no tool of a server are named in one hint', (t) => {
  const end = 'without the tools of your servers; add toolsets: [agent-webhook, mcp-files] to lend them';
  t.same(hints('{x: {}}'), [`route "x" runs ${end}`]);
  t.same(hints('{a: {}, b: {}, own: {toolsets: [web]}, c: {}, d: {}}'), [`routes "a", "b", "c" and 1 more run ${end}`]);
  const quiet = [
    hints('{x: {toolsets: []}}'),
    hints('{x: {enabled: false}}'),
    hints('{x: {cron_job: j}}'),
    hints('{x: {deliver_only: true, deliver: slack}}'),
    hints('{x: {}}', '{off: {command: x, enabled: false}}'),
    hints('{x: {}}', '{}'),
    hints('{x: {}}', '{files: {command: x}}', 'echo'),
    hints('{}'),
  ];
  t.same(quiet, Array(quiet.length).fill([]));
  t.end();
});
