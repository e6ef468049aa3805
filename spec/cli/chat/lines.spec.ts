/** What comes unasked while a person types leaves the line that is being typed in sight. */

import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import t, { type Test } from 'tap';
import { main } from '../../support/daemon.ts';
import { fakeGateway } from '../../support/fake-gateway.ts';
import { makeHome } from '../../support/home.ts';
import { collected, until } from '../../support/processes.ts';
import { hasTerminal, startTerminal } from '../../support/terminal.ts';

const answers: Readonly<Record<string, object>> = {
  'chat.open': { session: 's', profile: 'default', provider: 'p', model: 'm', tools: 0 },
  'approvals.watch': { pending: [] },
  'chat.say': { outcome: 'answered', steps: 1, input_tokens: 1, output_tokens: 1 },
};

/** A gateway that opens a chat; resolves with the connection of its client. */
function chatting(t: Test, home: string): Promise<Socket> {
  return new Promise((resolve) => {
    void fakeGateway(t, home, ({ id, method }, { say, socket }) => {
      say({ id, result: answers[method] ?? null });
      resolve(socket);
    });
  });
}

t.test(
  'CLI-4 · TRU-3 · a question of another run is announced above the line that is being typed',
  { skip: !hasTerminal && 'this machine has no script that runs a command' },
  async (t) => {
    const home = makeHome(t).path;
    const connected = chatting(t, home);
    const terminal = startTerminal(t, ['chat'], { AGENT_HOME: home, NO_COLOR: '1' });
    const socket = await connected;
    await terminal.shows(/› /);
    terminal.type('/hel');
    await terminal.shows(/\/hel/);
    const params = { id: 'akfmtx7', kind: 'tool', tool: 'merge', server: 'hub', profile: 'default' };
    socket.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'approvals.asked', params })}\n`);
    await terminal.shows(/akfmtx7 waits for a yes/);
    terminal.type('p\r');
    await terminal.shows(/Ctrl-D does too/);
    t.match(terminal.shown(), /merge of hub; \/approve akfmtx7\n› \/help/);
    terminal.type('/exit\r');
    t.equal(await terminal.exited, 0);
  },
);

t.test(
  'CLI-4 · CLI-6 · after Ctrl-Z and fg the chat reads lines and marks pastes again',
  { skip: !hasTerminal && 'this machine has no script that runs a command' },
  async (t) => {
    const home = makeHome(t).path;
    void chatting(t, home);
    const line = `set -m; '${process.execPath}' '${main}' chat; stty -a; echo stopped; fg; echo over`;
    const child = spawn('script', ['-qec', line, '/dev/null'], {
      env: { ...process.env, TERM: 'xterm', SHELL: '/bin/sh', NO_COLOR: '1', AGENT_HOME: home },
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    t.teardown(() => child.kill('SIGKILL'));
    const text = collected(child.stdout);
    await until(() => text().includes('› '));
    child.stdin.write('/hel\u001a');
    await until(() => /stopped[\s\S]*› \/hel/.test(text()));
    const [before = '', after = ''] = text().split('stopped');
    t.match(before.split('[?2004l')[1], / icanon /, 'the shell has its terminal back');
    t.match(after, '[?2004h');
    child.stdin.write('p\r');
    await until(() => text().includes('Ctrl-D does too'));
    child.stdin.write('/exit\r');
    await until(() => text().includes('over'));
  },
);

t.test(
  'CLI-4 · a message is in the history while the chat is open, as a terminal that is closed ends it at once',
  { skip: !hasTerminal && 'this machine has no script that runs a command' },
  async (t) => {
    const home = makeHome(t).path;
    const history = `${home}/state/chat-history`;
    mkdirSync(`${home}/state`);
    writeFileSync(history, 'an earlier one\n');
    void chatting(t, home);
    const terminal = startTerminal(t, ['chat'], { AGENT_HOME: home, NO_COLOR: '1' });
    await terminal.shows(/› /);
    terminal.type('a message\r');
    await until(() => readFileSync(history, 'utf8') === 'a message\nan earlier one\n');
    await terminal.shows(/1 step/);
    terminal.type('/exit\r');
    t.equal(await terminal.exited, 0);
  },
);
