/**
 * Another user of the machine, who has no rights but those of everybody: what the daemon keeps, serves and starts is closed
 * to that user by its own modes, while each same try of the owner succeeds. Needs root, to start processes of two users.
 */

import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import t, { type Test } from 'tap';
import { homePaths } from '../../machines/config/profile.ts';
import { type CliResult, type Daemon, followDaemon, main } from '../support/daemon.ts';
import { makeHome } from '../support/home.ts';
import { commandOf, eventually } from '../support/mcp/gateway.ts';
import { stdioPeer } from '../support/mcp/stdio-peer.ts';
import { collected } from '../support/processes.ts';
import { postSigned } from '../support/sign.ts';
import { inAllOnly } from '../support/tier.ts';
import { adapterOf } from '../support/webhook-adapter.ts';

const owner = 65_533;
const other = 65_534;
/** In the configuration, in `.env`, in a credential and in an event: none may reach the other user. */
const secrets = {
  hook: 'hook-secret-of-the-owner',
  server: 'server-key-of-the-owner',
  own: 'own-key-of-the-owner',
  token: 'access-token-of-the-owner',
  scrape: 'scrape-token-of-the-owner',
  prompt: 'prompt-that-is-private',
};

const skip = skipReason();

function skipReason(): string | false {
  if (process.platform !== 'linux') return 'the tries are those of Linux';
  if (process.getuid?.() !== 0) return 'only root can start processes of other users';
  const { status } = spawnSync(process.execPath, [main, '--version'], { uid: owner, gid: owner });
  return status === 0 ? false : 'the build lies where other users cannot run it';
}

/** Tries to read each path and to connect to each socket as the user that runs it; prints what came of each, by its name. */
const tries = `
import { accessSync, constants, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { connect } from 'node:net';
const { readable, writable, sockets } = JSON.parse(process.argv[2]);
const seen = {};
const note = (name, act) => {
  try {
    act();
    seen[name] = 'open';
  } catch ({ code }) {
    seen[name] = code;
  }
};
for (const path of readable) {
  note('read ' + path, () => {
    if (/^\\/proc\\/\\d+\\/(cwd|exe)$/.test(path)) return readlinkSync(path);
    return statSync(path).isDirectory() ? readdirSync(path) : readFileSync(path);
  });
}
for (const path of writable) note('write ' + path, () => accessSync(path, constants.W_OK));
for (const path of sockets) {
  seen['connect ' + path] = await new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => socket.end(() => resolve('open')));
    socket.once('error', ({ code }) => resolve(code));
  });
}
console.log(JSON.stringify(seen));
`;

/** Says where its socket is, and stays until it is let go. */
const agent = `
import { existsSync, writeFileSync } from 'node:fs';
writeFileSync('began', JSON.stringify([process.pid, process.env.AGENT_SOCKET]), { mode: 0o600 });
setInterval(() => existsSync('go') && process.exit(0), 10);
`;

/** A browser that stays open without loading what it is started with. */
const browser = `#!/bin/sh
umask 077
echo "$1" > "$SPEC_SEEN.new" && mv "$SPEC_SEEN.new" "$SPEC_SEEN"
while [ -e "$SPEC_SEEN" ]; do sleep 1; done
`;

interface Stage {
  readonly home: string;
  readonly socket: string;
  readonly temporary: string;
  readonly daemon: Daemon;
  /** A program of the owner's, with the owner's environment. */
  start(words: readonly string[], env?: Readonly<Record<string, string>>): ReturnType<typeof spawn>;
  /** What comes of each try of a user. */
  attempt(uid: number, what: Attempts): Promise<Readonly<Record<string, string>>>;
  /** The command line as another user runs it on the owner's home. */
  asOther(...words: readonly string[]): Promise<CliResult>;
}

interface Attempts {
  readonly readable?: readonly string[];
  readonly writable?: readonly string[];
  readonly sockets?: readonly string[];
}

/** A daemon of the owner's, in a home whose parents everybody may enter: what keeps the other user out is the home itself. */
async function stage(t: Test, name: string): Promise<Stage> {
  const base = makeHome(t);
  const home = join(base.path, name);
  const user = join(base.path, 'user');
  const temporary = join(base.path, 'tmp');
  const files = {
    'config.yaml': JSON.stringify({
      agent: { runner: 'command', command: ['node', 'scripts/agent.mjs'] },
      inspector: { port: 0, scrape_token: '${SCRAPE}' },
      mcp_servers: { peer: commandOf(stdioPeer(), { env: { SERVER_KEY: '${SERVER_KEY}' } }) },
      platforms: {
        webhook: adapterOf({ gh: { prompt: '{text}' } }, { secret: '${HOOK}' }),
      },
    }),
    '.env': `HOOK=${secrets.hook}\nSERVER_KEY=${secrets.server}\nOWN_KEY=${secrets.own}\nSCRAPE=${secrets.scrape}\n`,
    'mcp-tokens/hub.json': JSON.stringify({ access_token: secrets.token }),
    'scripts/agent.mjs': agent,
  };
  for (const [path, text] of Object.entries(files)) base.write(`${name}/${path}`, text);
  base.write('tries.mjs', tries, 0o644);
  base.write('browser.sh', browser, 0o755);
  for (const folder of [user, temporary]) mkdirSync(folder);
  for (const path of ['', ...readdirSync(home, { recursive: true, encoding: 'utf8' })]) {
    chownSync(join(home, path), owner, owner);
  }
  chownSync(user, owner, owner);
  // As the gateway makes it.
  chmodSync(join(home, 'mcp-tokens'), 0o700);
  for (let folder = dirname(home); folder.startsWith(base.path); folder = dirname(folder)) chmodSync(folder, 0o755);
  chmodSync(user, 0o755);
  chmodSync(temporary, 0o1777);

  const own = { PATH: process.env.PATH ?? '', NO_COLOR: '1', AGENT_HOME: home, HOME: user, TMPDIR: temporary };
  const start: Stage['start'] = (words, env = {}) =>
    spawn(process.execPath, words, { uid: owner, gid: owner, cwd: user, env: { ...own, ...env } });
  const daemon = await followDaemon(t, start([main, 'gateway', 'run'], { AGENT_LOG_LEVEL: 'debug' }));
  return {
    home,
    socket: homePaths(home).socket,
    temporary,
    daemon,
    start,
    async attempt(uid, { readable = [], writable = [], sockets = [] }) {
      const words = [join(base.path, 'tries.mjs'), JSON.stringify({ readable, writable, sockets })];
      const { stdout, stderr } = await ended(
        spawn(process.execPath, words, { uid, gid: uid, env: { PATH: own.PATH } }),
      );
      if (stdout === '') throw new Error(stderr);
      return JSON.parse(stdout);
    },
    asOther: (...words) =>
      ended(spawn(process.execPath, [main, ...words], { uid: other, gid: other, env: { ...own, HOME: temporary } })),
  };
}

async function ended(child: ReturnType<typeof spawn>): Promise<CliResult> {
  const stdout = collected(child.stdout);
  const stderr = collected(child.stderr);
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  return { code, stdout: stdout(), stderr: stderr() };
}

/** The text of a file, once there is one. */
function textOf(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, 'utf8') || undefined : undefined;
}

/** What lies in a folder, by what can be done with it. */
function contentsOf(folder: string): { readonly readable: string[]; readonly sockets: string[] } {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const paths = [folder, ...names.map((name) => join(folder, name))];
  const isSocket = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isSocket() === true;
  return { readable: paths.filter((path) => !isSocket(path)), sockets: paths.filter(isSocket) };
}

/** The processes of a user. */
function processesOf(uid: number): readonly string[] {
  return readdirSync('/proc').filter(
    (name) => /^\d+$/.test(name) && lstatSync(`/proc/${name}`, { throwIfNoEntry: false })?.uid === uid,
  );
}

const deep = 'deep/'.repeat(20);

for (const name of ['home', `${deep}home`]) {
  const where = name === 'home' ? 'in the home' : 'beside a home that is too deep for it';
  const when = { skip: skip || (name === 'home' && inAllOnly) };
  t.test(`SEC-1 · SEC-4 · HOME-3 · CLI-3 · another user is kept out, the socket ${where}`, when, async (t) => {
    const { home, socket, temporary, daemon, start, attempt, asOther } = await stage(t, name);
    await daemon.line(({ message }) => message.includes('connected'));
    const sent = await postSigned(`${daemon.url}/webhooks/gh`, { text: secrets.prompt }, { secret: secrets.hook });
    t.equal(sent.status, 202);
    const [run, runSocket] = JSON.parse(await eventually(() => textOf(`${home}/began`))) as [number, string];
    const seen = join(dirname(temporary), 'user', 'seen');
    const opening = start([main, 'inspect', '--web'], {
      BROWSER: join(dirname(temporary), 'browser.sh'),
      SPEC_SEEN: seen,
    });
    t.teardown(() => opening.kill('SIGTERM'));
    const forward = new URL((await eventually(() => textOf(seen))).trim()).pathname;

    const within = contentsOf(home);
    const aside = [socket, String(runSocket)].flatMap((path) => [path, dirname(path)]);
    const processes = processesOf(owner);
    const what = {
      readable: [
        ...within.readable,
        ...readdirSync(temporary).map((one) => join(temporary, one)),
        forward,
        dirname(forward),
        ...(name === 'home' ? [] : [dirname(socket), dirname(String(runSocket))]),
        ...processes.flatMap((pid) => ['environ', 'fd', 'cwd', 'exe'].map((file) => `/proc/${pid}/${file}`)),
      ],
      writable: [...within.readable, ...within.sockets, forward, ...aside],
      sockets: [...new Set([...within.sockets, socket, String(runSocket)])],
    };
    t.ok(processes.includes(String(daemon.child.pid)) && processes.includes(String(run)));
    t.equal(what.sockets.length, 2);
    for (const file of ['config.yaml', '.env', 'mcp-tokens/hub.json', 'state/data.mdb', 'gateway.lock']) {
      t.ok(what.readable.includes(join(home, file)), file);
    }

    const refused = (results: Readonly<Record<string, string>>, but: readonly string[] = []): void => {
      const passed = Object.entries(results).filter(([, came]) => !['EACCES', 'EPERM'].includes(came));
      // What a process writes beside a file to put it in its place, and a process that ended, may have gone meanwhile.
      t.same(
        passed.filter(([tried, came]) => came !== 'ENOENT' && came !== 'ESRCH' && !but.includes(tried)),
        [],
      );
      for (const path of what.sockets) t.equal(results[`connect ${path}`], 'EACCES', path);
      for (const path of ['config.yaml', '.env', 'state/data.mdb']) t.equal(results[`read ${home}/${path}`], 'EACCES');
    };
    const owned = await attempt(owner, what);
    t.same(
      Object.entries(owned).filter(([tried, came]) => came === 'EACCES' && !/\/scripts\/|\/proc\//.test(tried)),
      [],
      'the owner may',
    );
    for (const path of what.sockets) t.equal(owned[`connect ${path}`], 'open');
    t.equal(owned[`read /proc/${daemon.child.pid}/environ`], 'open');

    refused(await attempt(other, what));
    // An owner who lets others into the home has let them into nothing that lies there.
    chmodSync(home, 0o755);
    refused(await attempt(other, what), [`read ${home}`, `read ${home}/scripts`]);
    chmodSync(home, 0o700);

    const shown = processesOf(owner).map((pid) => readFileSync(`/proc/${pid}/cmdline`, 'latin1'));
    const link = /token=([\w-]+)/.exec(readFileSync(forward, 'utf8'))?.[1] ?? '';
    t.equal(link.length, 43);
    for (const secret of [...Object.values(secrets), link]) {
      t.notOk(
        shown.some((words) => words.includes(secret)),
        'a list of processes shows no secret',
      );
    }
    const { origin } = new URL(readFileSync(forward, 'utf8').match(/url=([^"]*)"/)?.[1] ?? '');
    for (const path of ['/', '/stream', '/hello', '/metrics', '/ready', '/actor/supervisor', '/open?token=']) {
      t.equal((await fetch(`${origin}${path}`)).status, 401, path);
    }
    const rpc = { method: 'POST', headers: { origin, 'content-type': 'application/json' }, body: '{}' };
    t.equal((await fetch(`${origin}/rpc`, rpc)).status, 401);
    const scrape = { headers: { authorization: `Bearer ${secrets.scrape}` } };
    t.equal((await fetch(`${origin}/metrics`, scrape)).status, 200, 'the owner may');

    for (const words of [
      ['gateway', 'status'],
      ['runs', 'list'],
      ['webhook', 'list'],
      ['config', 'check'],
    ]) {
      const { code, stdout, stderr } = await asOther(...words);
      t.equal(code, 1, words.join(' '));
      t.equal(stdout, '');
      t.match(stderr, /run the command as the user that runs the gateway|belongs to another user/, words.join(' '));
    }
    writeFileSync(`${home}/go`, '');
    await daemon.line(({ message }) => message === 'run delivered');
    t.equal(await daemon.kill('SIGTERM'), 0);
  });
}
