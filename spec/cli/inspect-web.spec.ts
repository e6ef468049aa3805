import { spawn } from 'node:child_process';
import { chmodSync, readdirSync, readFileSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { main, runCli, startDaemon } from '../support/daemon.ts';
import { makeHome } from '../support/home.ts';
import { ask } from '../support/inspector.ts';
import { eventually } from '../support/mcp/gateway.ts';

const platforms = { webhook: { enabled: true, extra: { host: '127.0.0.1', port: 0, secret: 'a-secret-of-the-spec' } } };
const home = makeHome(t, { 'config.yaml': JSON.stringify({ inspector: { port: 0 }, platforms }) });
await startDaemon(t, home.path);

/** A browser that records its arguments and what it could read, and opens the link as a person's would. */
const scriptedBrowser = `#!/usr/bin/env node
const { readFileSync, statSync, writeFileSync } = require('node:fs');
const { dirname } = require('node:path');
const { fileURLToPath } = require('node:url');
const [, , address] = process.argv;
const file = fileURLToPath(address);
const [, link] = /url=([^"]*)"/.exec(readFileSync(file, 'utf8'));
const modes = [file, dirname(file)].map((path) => (statSync(path).mode & 0o777).toString(8));
writeFileSync(process.env.SPEC_SEEN, JSON.stringify({ argv: process.argv.slice(2), link, modes }));
if (process.env.SPEC_OPENS === 'yes') fetch(link);
else if (process.env.SPEC_OPENS === 'no') process.exit(1);
`;

t.test('INS-2 · SEC-1 · the browser is led to the link by a private file, which is gone again', async (t) => {
  const user = makeHome(t, { 'scripts/browser.cjs': scriptedBrowser, 'desk/keep': '' });
  const desk = join(user.path, 'desk');
  const seen = join(user.path, 'seen.json');
  for (const opens of ['yes', 'no']) {
    const env = { BROWSER: `${user.path}/scripts/browser.cjs`, HOME: desk, SPEC_SEEN: seen, SPEC_OPENS: opens };
    const printed = await runCli(['inspect', '--web'], home.path, { ...env, DISPLAY: '', SSH_CONNECTION: '' });

    t.equal(printed.code, 0);
    t.match(printed.stdout, /^http:\/\/127\.0\.0\.1:\d+\/open\?token=[\w-]{43}\n$/, 'the link is printed as well');
    t.match(printed.stderr, /once, within five minutes/);
    const { argv, link, modes } = JSON.parse(readFileSync(seen, 'utf8')) as Readonly<Record<string, string[]>>;
    t.equal(link, printed.stdout.trim());
    t.match(argv, [/^file:\/\/\/.*\/desk\/agent-inspector-\w+\/open\.html$/], 'in a place that is no dot folder');
    t.equal(argv?.length, 1);
    t.same(modes, ['600', '700']);
    t.same(readdirSync(desk), ['keep']);
    t.equal(/has not opened it/.test(printed.stderr), opens === 'no');
    t.equal((await ask(printed.stdout.trim())).status, opens === 'yes' ? 401 : 200, 'the browser opened it');
  }
});

t.test('SEC-1 · without a home and without a browser the link is printed all the same', async (t) => {
  const user = makeHome(t, { 'scripts/browser.cjs': scriptedBrowser, 'run/keep': '', 'temp/keep': '' });
  const seen = join(user.path, 'seen.json');
  const own = { DISPLAY: '', WAYLAND_DISPLAY: '', SSH_CONNECTION: '', SPEC_SEEN: seen, SPEC_OPENS: 'yes' };
  const places = { HOME: join(user.path, 'gone'), XDG_RUNTIME_DIR: join(user.path, 'run') };
  const env = { ...own, ...places, BROWSER: `${user.path}/scripts/browser.cjs` };
  t.match((await runCli(['inspect', '--web'], home.path, env)).stdout, /open\?token=/);
  t.match(JSON.parse(readFileSync(seen, 'utf8')), { argv: [/\/run\/agent-inspector-/] });
  t.same(readdirSync(join(user.path, 'run')), ['keep']);

  const gone = { ...env, BROWSER: `${user.path}/no-browser` };
  t.match((await runCli(['inspect', '--web'], home.path, gone)).stdout, /open\?token=/);
  t.same(readdirSync(join(user.path, 'run')), ['keep']);

  const none = await runCli(['inspect', '--web'], home.path, { ...env, BROWSER: '' });
  t.match(none, { code: 0, stdout: /open\?token=/ });

  const { BROWSER: _, ...remote } = { ...env, SSH_CONNECTION: '192.0.2.1 1 192.0.2.2 22' };
  const over = await runCli(['inspect', '--web'], home.path, remote);
  t.equal(over.code, 0);
  t.match(over.stderr, /ssh -L (\d+):127\.0\.0\.1:\1/);
});

t.test('INS-4 · over ssh, a link to the public address of the page needs no tunnel', async (t) => {
  const inspector = { port: 0, public_url: 'https://agent.example.com' };
  const own = makeHome(t, { 'config.yaml': JSON.stringify({ inspector, platforms }) });
  await startDaemon(t, own.path);
  const { code, stdout, stderr } = await runCli(['inspect', '--web'], own.path, { SSH_CONNECTION: '192.0.2.1 1' });
  t.equal(code, 0);
  t.match(stdout, /^https:\/\/agent\.example\.com\/open\?token=/);
  t.notMatch(stderr, 'ssh -L');
});

t.test('SEC-1 · a signal leaves no file with the link, and the next start removes what a kill left', async (t) => {
  const old = new Date(Date.now() - 61_000);
  for (const signal of ['SIGTERM', 'SIGHUP'] as const) {
    const user = makeHome(t, {
      'scripts/browser.cjs': scriptedBrowser,
      'desk/agent-inspector-Left01/open.html': 'a link',
      'desk/agent-inspector-backup/letter': 'the user’s own',
      'desk/agent-inspector-Now001/open.html': 'of another command',
    });
    const desk = join(user.path, 'desk');
    const seen = join(user.path, 'seen.json');
    for (const name of ['agent-inspector-Left01', 'agent-inspector-backup']) {
      chmodSync(join(desk, name), 0o700);
      utimesSync(join(desk, name), old, old);
    }
    const places = { HOME: desk, AGENT_HOME: home.path, BROWSER: `${user.path}/scripts/browser.cjs` };
    const child = spawn(process.execPath, [main, 'inspect', '--web'], {
      env: { ...process.env, ...places, SPEC_SEEN: seen, SPEC_OPENS: 'later' },
      stdio: 'ignore',
    });
    const ended = new Promise((resolve) => child.once('exit', (_, by) => resolve(by)));
    await eventually(() => {
      try {
        return JSON.parse(readFileSync(seen, 'utf8')) as object;
      } catch {
        return undefined;
      }
    });

    child.kill(signal);

    t.equal(await ended, signal, 'it ends by the signal');
    t.same(readdirSync(desk).sort(), ['agent-inspector-Now001', 'agent-inspector-backup'], signal);
  }
});
