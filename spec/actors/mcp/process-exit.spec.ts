import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import t, { type Test } from 'tap';
import { endGroup, signalGroup } from '../../../actors/mcp/process-exit.ts';
import { makeHome } from '../../support/home.ts';
import { hasEnded, numbersIn, until } from '../../support/processes.ts';

const sweep = async (): Promise<void> => {};

function group(t: Test, script: string, cwd: string): { child: ChildProcess; id: number; exited: Promise<unknown> } {
  const child = spawn('sh', ['-c', script], { cwd, detached: true, stdio: 'ignore' });
  const id = child.pid ?? 0;
  t.teardown(() => void signalGroup(id, 'SIGKILL'));
  return { child, id, exited: once(child, 'exit') };
}

t.test('LIF-9 · a process group has time to end, then gets SIGTERM, then SIGKILL', async (t) => {
  for (const [script, termMs, expected] of [
    ["trap 'echo 1 >>term; exit' TERM; echo $$ >>pids; while :; do sleep 0.01; done", 10_000, [1]],
    ["trap '' TERM; sleep 600 & echo $! >>pids; echo $$ >>pids; wait", 100, []],
  ] as const) {
    const { path } = makeHome(t);
    const { id, exited } = group(t, script, path);
    await until(() => numbersIn(`${path}/pids`).includes(id));

    await endGroup({ group: id, exited, sweep, politeMs: 1, termMs });

    t.ok(numbersIn(`${path}/pids`).every(hasEnded));
    t.same(numbersIn(`${path}/term`), expected);
  }
});

t.test('LIF-9 · what a leader leaves behind is ended at once', async (t) => {
  const { path } = makeHome(t);
  const { id, exited } = group(t, "(trap '' TERM; exec sleep 600) & echo $! >>pids", path);
  await endGroup({ group: id, exited, sweep, politeMs: 60_000, termMs: 60_000 });
  t.same(numbersIn(`${path}/pids`).map(hasEnded), [true]);
});

t.test('LIF-9 · a group that is gone takes no signal', async (t) => {
  const { id, exited } = group(t, 'exit', '/');
  await exited;
  await until(() => !signalGroup(id, 'SIGTERM'));
  await endGroup({ group: id, exited, sweep, politeMs: 60_000, termMs: 60_000 });
});
