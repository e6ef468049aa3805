import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import t from 'tap';
import { sweepRunFiles, writeRunFiles } from '../../../actors/agent/run-files.ts';
import { makeHome } from '../../support/home.ts';

const run = { runId: 'r1', profile: 'work', prompt: 'Do it', toolsets: ['mcp-*'] };
const program = ['node', 'main.js'] as const;
const openSocket = async (path: string) => {
  writeFileSync(path, '');
  return () => rmSync(path, { force: true });
};

t.test('CON-3 · HOME-3 · each run has files of its own, for the owner alone, and they go with it', async (t) => {
  const home = makeHome(t);
  const settings = { folder: `${home.path}/state/runs`, program, openSocket };
  const before = process.umask(0);
  t.teardown(() => process.umask(before));
  const [one, other] = await Promise.all([writeRunFiles(settings, run), writeRunFiles(settings, run)]);

  t.not(one.mcpConfig, other.mcpConfig);
  for (const path of [one.mcpConfig, one.prompt]) t.equal(statSync(path).mode & 0o777, 0o600);
  for (const path of [settings.folder, dirname(one.prompt)]) t.equal(statSync(path).mode & 0o777, 0o700);
  t.equal(readFileSync(one.prompt, 'utf8'), 'Do it');
  t.match(JSON.parse(readFileSync(one.mcpConfig, 'utf8')), {
    mcpServers: {
      agent: {
        command: 'node',
        args: ['main.js', 'mcp', 'serve', '--profile', 'work', '--toolsets', 'mcp-*'],
        env: { AGENT_SOCKET: one.socket },
      },
    },
  });
  const none = await writeRunFiles(settings, { ...run, toolsets: [] });
  t.match(JSON.parse(readFileSync(none.mcpConfig, 'utf8')).mcpServers.agent.args.slice(-2), ['--toolsets', 'none']);
  await none.remove();
  await one.remove();
  await one.remove();
  t.equal(readdirSync(settings.folder).length, 1);
});

t.test('DUR-1 · what a killed daemon left is swept away, and nothing else', async (t) => {
  const home = makeHome(t);
  const folder = `${home.path}/runs`;
  await sweepRunFiles(folder);
  mkdirSync(`${folder}/run-left`, { recursive: true });
  writeFileSync(`${folder}/run-left/prompt.md`, 'x');
  writeFileSync(`${folder}/other`, 'x');
  await sweepRunFiles(folder);
  t.same(readdirSync(folder), ['other']);
});

t.test('SEC-4 · the socket of a run in a deep home has a folder of its own, which is swept too', async (t) => {
  const home = makeHome(t);
  const folder = `${home.path}/${'deep/'.repeat(20)}runs`;
  const aside = async (path: string) => {
    mkdirSync(dirname(path));
    writeFileSync(path, '');
    return () => rmSync(path, { force: true });
  };
  const left = await writeRunFiles({ folder, program, openSocket: aside }, run);
  t.match(left.socket, /^\/tmp\/agent-[0-9a-f]{24}\/agent\.sock$/);
  t.ok(left.socket.length < 104);
  await sweepRunFiles(folder);
  t.same(readdirSync(folder), []);
  t.notOk(existsSync(dirname(left.socket)));
});

t.test('DIS-3 · a folder that cannot be written is reported', async (t) => {
  const home = makeHome(t, { file: 'x' });
  await t.rejects(writeRunFiles({ folder: `${home.path}/file/runs`, program, openSocket }, run));
});
