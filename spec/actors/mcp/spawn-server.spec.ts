import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { ConnectError } from '../../../actors/mcp/connect-errors.ts';
import { notStarted, spawnServer } from '../../../actors/mcp/spawn-server.ts';
import { makeHome } from '../../support/home.ts';

const plan = (command: string, args: readonly string[] = []) => ({ kind: 'stdio' as const, command, args, env: {} });

function failureOf(start: () => unknown): ConnectError {
  try {
    start();
  } catch (thrown) {
    if (thrown instanceof ConnectError) return thrown;
  }
  throw new Error('it started');
}

t.test('LIF-7 · an impossible command is reported with its server and the fix', (t) => {
  const { path } = makeHome(t);
  const plain = join(path, 'plain.txt');
  writeFileSync(plain, 'no program');
  chmodSync(plain, 0o600);
  mkdirSync(join(path, 'folder'));
  for (const [command, cwd, words, code] of [
    [
      'no-such-command-at-all',
      path,
      /^mcp server "s": command not found in the gateway's PATH: no-such-command-at-all; install it, or/,
      'ENOENT',
    ],
    [plain, path, /does not start its command \(EACCES\)/, 'EACCES'],
    [join(path, 'folder'), path, /does not start its command \(EISDIR\)/, 'EISDIR'],
    ['node', join(path, 'nowhere'), /nowhere is not a folder/, 'ENOTDIR'],
  ] as const) {
    const failure = failureOf(() => spawnServer({ server: 's', plan: plan(command), cwd }));
    t.match(failure.message, words, command);
    t.match(failure.failure, { kind: 'spawn', code }, command);
  }
  t.end();
});

t.test('LIF-7 · what the system refuses is reported without the words that it refused', (t) => {
  const { path } = makeHome(t);
  const secret = 'secret\0word';
  const failure = failureOf(() => spawnServer({ server: 's', plan: plan('sh', [secret]), cwd: path }));
  t.match(failure.message, /does not start its command \(ERR_INVALID_ARG_VALUE\)/);
  t.notMatch(failure.message, /secret/);
  t.match(notStarted('s', 'x', {}).message, /\(unknown\)/);
  t.end();
});
