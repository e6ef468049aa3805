import t from 'tap';
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
