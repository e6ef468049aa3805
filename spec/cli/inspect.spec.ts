import { spawn } from 'node:child_process';
import { once } from 'node:events';
import t, { type Test } from 'tap';
import { explainDelivery } from '../../cli/commands/inspect-why.ts';
import { widthOf } from '../../cli/text-width.ts';
import { stageCommand } from '../support/command-stage.ts';
import { main } from '../support/daemon.ts';
import { fakeGateway } from '../support/fake-gateway.ts';
import { makeHome } from '../support/home.ts';
import { startGateway } from '../support/mcp/gateway.ts';
import { collected, until } from '../support/processes.ts';
import { hasTerminal, startTerminal } from '../support/terminal.ts';

const only = hasTerminal ? {} : { skip: 'this machine has no script that runs a command' };

const row = (id: string) => ({ id, parent: null, machine: 'connection', state: 'failed', since: 0, tags: ['failed'] });

/** A gateway that shows these actors. */
function showing(t: Test, home: string, ...actors: readonly object[]) {
  return fakeGateway(t, home, ({ id }, { say }) => say({ id, result: shown(home, actors) }));
}

const shown = (home: string, actors: readonly object[]) => ({
  actors,
  more: {},
  health: { started: Date.now(), url: null, home },
});

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
  await fakeGateway(t, home, ({ id }, { say }) => {
    say({ id, result: shown(home, [row('connections/gone'), row('connections/here')]) });
    const gone = ['connections/gone'];
    say({ method: 'inspect.delta', params: { at: 0, changed: [], gone, steps: [], skipped: 0 } });
  });
  const terminal = startTerminal(t, ['inspect'], { AGENT_HOME: home });
  await terminal.shows(/agent {2}1 failed {2}up/);
  terminal.type('q');
  await terminal.exited;
});

t.test('INS-2 · CLI-6 · a terminal that is disconnected as a slow reader shows the tree anew', only, async (t) => {
  const home = makeHome(t).path;
  await fakeGateway(t, home, ({ id }, { number, say, socket }) => {
    say({ id, result: shown(home, [row(`connections/number-${number}`)]) });
    if (number === 1) socket.end();
  });
  const terminal = startTerminal(t, ['inspect'], { AGENT_HOME: home });
  await terminal.shows(/connections\/number-2/);
  terminal.type('q');
  t.equal(await terminal.exited, 0);
});

t.test('INS-2 · CLI-6 · no line of the tree fills the last column, where its end would be erased', only, async (t) => {
  const home = makeHome(t).path;
  await showing(t, home, { ...row('connections/here'), why: 'x'.repeat(80) });
  const line = `stty cols 40 rows 10; exec '${process.execPath}' '${main}' inspect`;
  const child = spawn('script', ['-qec', line, '/dev/null'], {
    env: { ...process.env, TERM: 'xterm', NO_COLOR: '1', AGENT_HOME: home },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const text = collected(child.stdout);
  await until(() => text().includes('\u001b[J'));
  child.stdin.write('q');
  await once(child, 'close');
  const screen = text().slice(text().indexOf('\u001b[H') + 3, text().indexOf('\u001b[J'));
  const lines = screen.replaceAll('\u001b[K', '').split(/\r*\n/);
  t.match(lines[1], /^connections\/here {2}failed .*x…$/);
  for (const one of lines) t.ok(widthOf(one) < 40, one);
});

t.test('INS-2 · CLI-6 · Ctrl-Z stops the tree on a restored terminal, and fg draws it again', only, async (t) => {
  const home = makeHome(t).path;
  await showing(t, home, row('connections/here'));
  const view = `'${process.execPath}' '${main}' inspect`;
  const behind = `bg; until jobs >'${home}/jobs'; grep -q Stopped '${home}/jobs'; do sleep 0.05; done`;
  const line = `set -m; ${view}; stty -a; echo stopped; ${behind}; echo behind; fg; stty -a; echo over`;
  const child = spawn('script', ['-qec', line, '/dev/null'], {
    env: { ...process.env, TERM: 'xterm', SHELL: '/bin/sh', AGENT_HOME: home },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  const text = collected(child.stdout);
  await until(() => text().includes('\u001b[J'));
  child.stdin.write('\u001a');
  await until(() => text().includes('\u001b[J', text().indexOf('behind') + 1) && text().includes('behind'));
  const [before = '', background = '', after = ''] = text().split(/stopped|behind/);
  const [, left = ''] = before.split('\u001b[?25h\u001b[?1049l');
  t.match(left, / icanon /, 'the cursor, the screen and the lines are back');
  t.notMatch(background, '\u001b[?1049h', 'bg takes no screen from the shell');
  t.match(after, /connections\/here/);
  // Without raw mode the shell's terminal would wait for Enter.
  child.stdin.write('q');
  await until(() => text().includes('over'));
  t.match(text().split('\u001b[?1049l').at(-1), / icanon /);
});

t.test('INS-2 · CLI-6 · Ctrl-Z changes nothing where no shell could continue the tree', only, async (t) => {
  const home = makeHome(t).path;
  await showing(t, home, row('connections/here'));
  const terminal = startTerminal(t, ['inspect'], { AGENT_HOME: home });
  await terminal.shows(/connections\/here/);
  terminal.type('\u001a');
  await terminal.shows(/connections\/here/);
  terminal.type('q');
  t.equal(await terminal.exited, 0);
});

t.test('INS-2 · a timeline rounds how long a part took as every other duration', async (t) => {
  const phase = (took: number) => ({
    ...{ kind: 'run', machine: 'agentRun', actor: 'runs/r', title: `took ${took}`, state: 'delivered', steps: [] },
    ...{ began: 0, ended: took },
  });
  const { context, seen } = stageCommand({
    args: ['d1'],
    answer: {
      ...{ delivery: 'd1', key: 'k', route: 'r', profile: 'default', event: 'e', status: 'delivered', received: 0 },
      ...{ verdict: 'It was delivered.', cure: '', phases: [59_960, 119_700].map(phase) },
    },
  });
  t.equal(await explainDelivery(context), 0);
  t.match(seen.printed, 'took 59960  1 min 0 s  runs/r');
  t.match(seen.printed, 'took 119700  2 min 0 s  runs/r');
});
