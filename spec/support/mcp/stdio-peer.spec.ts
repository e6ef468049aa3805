/** The peers that resist their end do so: otherwise what ends them would be proven by nothing. */

import { type ChildProcess, spawn } from 'node:child_process';
import t, { type Test } from 'tap';
import { hasEnded, until } from '../processes.ts';
import { type StdioBehaviour, stdioPeer } from './stdio-peer.ts';

function started(t: Test, behaviour: StdioBehaviour): ChildProcess {
  const { command, args } = stdioPeer(behaviour);
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'] });
  t.teardown(() => child.kill('SIGKILL'));
  return child;
}

for (const behaviour of ['grandchild', 'grandchild-holding'] as const) {
  t.test(`${behaviour} leaves a process behind when it alone is killed`, async (t) => {
    const child = started(t, behaviour);
    let isClosed = false;
    child.once('close', () => {
      isClosed = true;
    });
    const line = await new Promise<string>((resolve) => child.stderr?.once('data', (data) => resolve(String(data))));
    const pid = Number(/^grandchild (\d+)\n/.exec(line)?.[1]);
    t.teardown(() => process.kill(pid, 'SIGKILL'));

    child.kill('SIGKILL');
    await new Promise((resolve) => child.once('exit', resolve));

    t.equal(hasEnded(pid), false);
    if (behaviour === 'grandchild') return until(() => isClosed);
    // Where the grandchild holds the pipes, their end does not come; that of a peer that ends later does.
    const later = started(t, 'exit');
    await new Promise((resolve) => later.once('close', resolve));
    t.equal(isClosed, false);
  });
}

t.test('stubborn ends neither for a closed stdin nor for SIGTERM', async (t) => {
  const child = started(t, 'stubborn');
  let words = '';
  child.stderr?.on('data', (chunk) => {
    words += chunk;
  });
  child.stdin?.write('{"jsonrpc":"2.0","id":1,"method":"ping"}\n');
  await new Promise((resolve) => child.stdout?.once('data', resolve));

  child.kill('SIGTERM');
  await until(() => words.includes('in spite of SIGTERM'));
  child.stdin?.end();
  await until(() => words.includes('without input'));

  t.equal(hasEnded(child.pid ?? 0), false);
});
