import { once } from 'node:events';
import { createServer } from 'node:net';
import t from 'tap';
import { explainDelivery } from '../../cli/commands/inspect-why.ts';
import { homePaths } from '../../machines/config/profile.ts';
import { stageCommand } from '../support/command-stage.ts';
import { makeHome } from '../support/home.ts';
import { startGateway } from '../support/mcp/gateway.ts';
import { hasTerminal, startTerminal } from '../support/terminal.ts';

const only = hasTerminal ? {} : { skip: 'this machine has no script that runs a command' };

t.test('INS-2 · in the tree of a terminal, n goes from one failed actor to the next', only, async (t) => {
  const gone = { command: 'no-such-command-here', args: [] };
  const gateway = await startGateway(t, { first: gone, second: gone });
  await gateway.reaches('first', 'failed');
  await gateway.reaches('second', 'failed');
  const terminal = startTerminal(t, ['inspect'], { AGENT_HOME: gateway.home.path });
  await terminal.shows(/agent {2}2 failed {2}up/);
  terminal.type('n');
  await terminal.shows(/1 of 2 failed: connections\/first {2}up/);
  terminal.type('n');
  await terminal.shows(/2 of 2 failed: connections\/second {2}up/);
  terminal.type('n');
  await terminal.shows(/1 of 2 failed: connections\/first {2}up/);
  await gateway.cli('mcp', 'disable', 'first');
  await terminal.shows(/agent {2}1 failed {2}up/);
  terminal.type('n');
  await terminal.shows(/1 of 1 failed: connections\/second {2}up/);
  terminal.type('q');
  await terminal.exited;
});

t.test('INS-2 · an actor that ends while the tree is read is not left in it', only, async (t) => {
  const home = makeHome(t).path;
  const row = (id: string) => ({
    id,
    parent: null,
    machine: 'connection',
    state: 'failed',
    since: 0,
    tags: ['failed'],
  });
  const actors = [row('connections/gone'), row('connections/here')];
  const lines = (id: unknown) => [
    { id, result: { actors, more: {}, vitals: { started: Date.now(), url: null, home } } },
    { method: 'inspect.delta', params: { at: 0, changed: [], gone: ['connections/gone'], steps: [], skipped: 0 } },
  ];
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', (asked) => {
      const { id } = JSON.parse(String(asked));
      socket.write(
        lines(id)
          .map((one) => `${JSON.stringify({ jsonrpc: '2.0', ...one })}\n`)
          .join(''),
      );
    });
  });
  server.listen(homePaths(home).socket);
  await once(server, 'listening');
  t.teardown(() => server.close());
  const terminal = startTerminal(t, ['inspect'], { AGENT_HOME: home });
  await terminal.shows(/agent {2}1 failed {2}up/);
  terminal.type('q');
  await terminal.exited;
});

t.test('INS-2 · a timeline rounds how long a part took as every other duration', async (t) => {
  const chapter = (took: number) => ({
    ...{ kind: 'run', machine: 'agentRun', actor: 'runs/r', title: `took ${took}`, state: 'delivered', stairs: [] },
    ...{ began: 0, ended: took },
  });
  const { context, seen } = stageCommand({
    args: ['d1'],
    answer: {
      ...{ delivery: 'd1', key: 'k', route: 'r', profile: 'default', event: 'e', status: 'delivered', received: 0 },
      ...{ verdict: 'It was delivered.', cure: '', chapters: [59_960, 119_700].map(chapter) },
    },
  });
  t.equal(await explainDelivery(context), 0);
  t.match(seen.printed, 'took 59960  1 min 0 s  runs/r');
  t.match(seen.printed, 'took 119700  2 min 0 s  runs/r');
});
