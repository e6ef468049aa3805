import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { askCli, main, runCli } from '../support/daemon.ts';

const linkTo = (name: string, config: object): string =>
  `agent://mcp/install?name=${name}&config=${Buffer.from(JSON.stringify(config)).toString('base64url')}`;

t.test(
  'LNK-2 · without a terminal the server is shown, nothing is written, and the exit code asks for a person',
  async (t) => {
    const home = t.testdir();

    const shown = await runCli(['link', 'open', linkTo('docs', { command: 'npx', args: ['x'] })], home);

    t.equal(shown.code, 4);
    t.match(shown.stdout, /docs[\s\S]*"command": "npx"[\s\S]*with your rights/);
    t.notOk(existsSync(join(home, 'config.yaml')));
  },
);

t.test('LNK-1 · a bad link ends with its own code and writes nothing', async (t) => {
  const home = t.testdir();
  const raw = (config: string): string => `agent://mcp/install?name=x&config=${config}`;
  const rows: readonly (readonly [string, string])[] = [
    [linkTo('..%2Fx', { command: 'x' }), 'link-name'],
    [linkTo('x', { url: 'https://x.y', headers: { a: 'x'.repeat(33 * 1_024) } }), 'link-too-long'],
    [raw('%21%21%21'), 'link-base64'],
    [raw(Buffer.from([0x7b, 0xff, 0x7d]).toString('base64url')), 'link-utf8'],
    [linkTo('x', { url: 'https://x.y', command: 'x' }), 'link-two-servers'],
    [linkTo('x', { url: 'file:///etc/passwd' }), 'link-url'],
    [linkTo('x', {}), 'link-no-server'],
    ['https://example.com/', 'link-form'],
  ];
  for (const [link, code] of rows) {
    const refused = await askCli(['link', 'open', link], home);
    t.equal(refused.code, 1, code);
    t.match(refused.stderr, new RegExp(`^agent: .*\\[${code}\\]\n$`));
    t.equal(refused.stdout, '', 'nothing of it is shown');
  }
  t.match(await askCli(['link', 'open', linkTo('x', { command: 'x' }), '--profile', '../y'], home), {
    code: 2,
    stderr: /"\.\.\/y" is no profile name \[profile-name\]/,
  });
  t.match(await askCli(['link', 'open'], home), { code: 2 });
  t.notOk(existsSync(join(home, 'config.yaml')));
});

t.test('LNK-2 · what a link carries cannot move the cursor or hide a part of itself', async (t) => {
  const config = { command: 'npx', args: ['\u001b[8mhidden\u001b[0m', '\u202egnp.x'] };
  const { stdout } = await runCli(['link', 'open', linkTo('docs', config)], t.testdir());
  for (const sign of ['\u001b', '\u202e']) t.notOk(stdout.includes(sign), JSON.stringify(sign));
  t.match(stdout, 'hidden');
});

t.test(
  'LNK-3 · SEC-1 · at a terminal a person renames and confirms, and the audit log says so',
  { skip: spawnSync('script', ['-V']).status !== 0 },
  async (t) => {
    const home = t.testdir({ 'config.yaml': '# mine\nmcp_servers:\n  docs: {command: mine}\n' });
    const command = `${process.execPath} ${main} link open '${linkTo('docs', { url: 'https://mcp.example.com/mcp' })}'`;

    const { status, stdout } = spawnSync('script', ['-qec', command, '/dev/null'], {
      input: 'docs2\ny\n',
      encoding: 'utf8',
      env: { ...process.env, AGENT_HOME: home, NO_COLOR: '1' },
    });

    t.equal(status, 0, stdout);
    t.match(stdout, /exists already/);
    const text = readFileSync(join(home, 'config.yaml'), 'utf8');
    t.match(text, /^# mine\n/);
    t.match(text, /docs2:\s+url: https:\/\/mcp\.example\.com\/mcp/);
    t.match(JSON.parse(readFileSync(join(home, 'logs', 'audit.log'), 'utf8')), {
      who: 'owner',
      from: 'terminal',
      what: 'added a server by a link',
      on: { name: 'docs2', profile: 'default' },
    });
  },
);

t.test(
  'LNK-3 · the scheme is registered with the desktop, and that can be undone',
  { skip: process.platform !== 'linux' },
  async (t) => {
    const folder = t.testdir({ bin: {}, data: {} });
    const asked = join(folder, 'asked');
    writeFileSync(join(folder, 'bin', 'xdg-mime'), `#!/bin/sh\necho "$@" > "${asked}"\n`);
    chmodSync(join(folder, 'bin', 'xdg-mime'), 0o755);
    const env = { PATH: `${join(folder, 'bin')}:${process.env.PATH}`, XDG_DATA_HOME: join(folder, 'data') };
    const file = join(folder, 'data', 'applications', 'agent-gateway-link.desktop');

    const registered = await runCli(['link', 'register'], folder, env);

    t.equal(registered.code, 0, registered.stderr);
    t.match(
      readFileSync(file, 'utf8'),
      /Exec=".*" ".*main\.js" --home ".*" link open %u\n[\s\S]*MimeType=x-scheme-handler\/agent;/,
    );
    t.match(readFileSync(file, 'utf8'), ` --home "${folder}" `, 'the desktop has not this environment');
    t.equal(readFileSync(asked, 'utf8'), 'default agent-gateway-link.desktop x-scheme-handler/agent\n');

    await runCli(['--home', `${folder}/my $home`, 'link', 'register'], folder, env);
    t.match(readFileSync(file, 'utf8'), ` --home "${folder}/my \\\\$home" `, 'as the specification writes a dollar');

    const undone = await runCli(['link', 'register', '--undo'], folder, env);

    t.equal(undone.code, 0);
    t.notOk(existsSync(file));

    const empty = await runCli(['link', 'register'], folder, { ...env, XDG_DATA_HOME: '', HOME: folder });

    t.match(empty.stdout, `${folder}/.local/share/applications/`, 'an empty variable is none');
  },
);
