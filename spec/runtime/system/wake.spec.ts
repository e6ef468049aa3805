import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import t from 'tap';
import { wake } from '../../../runtime/system/wake.ts';

const module = new URL('../../../runtime/system/wake.js', import.meta.url).href;

t.test('INS-1 · wakes once after its wait, and not after it was taken back', async (t) => {
  // A wait that keeps nobody from stopping needs something else that lives.
  const alive = setInterval(() => {}, 60_000);
  t.teardown(() => clearInterval(alive));
  const woken: string[] = [];
  wake(() => void woken.push('taken back'), 0)();
  wake(() => void woken.push('too long'), Number.POSITIVE_INFINITY);
  await new Promise<void>((resolve) => wake(resolve, -1));
  await new Promise<void>((resolve) => wake(resolve, 5));
  t.same(woken, []);
});

t.test('INS-1 · a process that has nothing else to do ends before the wait does', async (t) => {
  const program = `import { wake } from '${module}'; wake(() => {}, 3_600_000); console.log('waits');`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program]);
  t.equal(stdout, 'waits\n');
});
