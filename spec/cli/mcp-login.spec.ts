/** What a person sees of `agent mcp login` and `reauth`, and the codes that a script gets. */

import { spawn, spawnSync } from 'node:child_process';
import t, { type Test } from 'tap';
import type { JsonObject } from '../../machines/base/json.ts';
import { main } from '../support/daemon.ts';
import { fakeGateway } from '../support/fake-gateway.ts';
import { makeHome, type TestHome } from '../support/home.ts';
import { eventually } from '../support/mcp/gateway.ts';
import { installBrowser, startCli } from '../support/oauth/login-cli.ts';
import { collected } from '../support/processes.ts';

type Step =
  | { readonly report: JsonObject }
  | { readonly result: JsonObject }
  | { readonly error: string; readonly code: string }
  /** Says nothing more. */
  | 'waits'
  | 'hangs up';

interface Stage {
  readonly home: TestHome;
  /** The requests so far, each its method and parameters. */
  readonly asked: readonly { readonly method: string; readonly params: JsonObject }[];
  /** How many connections ended. */
  left(): number;
}

/** A control socket that plays the daemon's part of each login as told, so that every ending can be had. */
async function stage(t: Test, script: Readonly<Record<string, readonly Step[]>>): Promise<Stage> {
  const home = makeHome(t);
  const asked: { method: string; params: JsonObject }[] = [];
  let left = 0;
  const server = await fakeGateway(t, home.path, ({ id, method, params }, { say, socket }) => {
    asked.push({ method, params });
    const key = method === 'mcp.login' ? String(params.server) : method;
    for (const step of script[key] ?? []) {
      if (step === 'hangs up') socket.destroy();
      else if (step === 'waits') break;
      else if ('report' in step) say({ method: 'mcp.loginProgress', params: step.report });
      else if ('result' in step) say({ id, result: step.result });
      else say({ id, error: { code: -32_000, message: step.error, data: { code: step.code } } });
    }
  });
  server.on('connection', (socket) => {
    socket.on('close', () => {
      left += 1;
    });
  });
  return { home, asked, left: () => left };
}

const address = { kind: 'url', url: 'https://as.example/authorize?state=st', expires_in_seconds: 300 };
const code = {
  kind: 'code',
  verification_uri: 'https://as.example/activate',
  user_code: 'WDJB-MJHT',
  expires_in_seconds: 300,
};

t.test('OAU-8 · the address is printed and opened, the outcome shown; --no-browser opens nothing', async (t) => {
  const { home, asked } = await stage(t, { hub: [{ report: address }, { result: {} }] });
  const browser = installBrowser(home, { onlyOpens: true });

  const shown = await startCli(t, home, ['mcp', 'login', 'hub', '--profile', 'work'], browser.env).ended;

  t.match(shown, { code: 0, stderr: '' });
  t.match(
    shown.stdout,
    /Log in to hub of profile work in your browser:\n\n {2}https:\/\/as\.example\/authorize\?state=st\n/,
  );
  t.match(
    shown.stdout,
    /paste the address that it ends at here[\s\S]*Waiting for 5 minutes[\s\S]*Logged in to hub of profile work\./,
  );
  t.same(asked, [{ method: 'mcp.login', params: { server: 'hub', profile: 'work' } }]);
  await eventually(() => browser.opened().length > 0);
  t.same(browser.opened(), [address.url]);

  t.match(await startCli(t, home, ['mcp', 'login', 'hub', '--no-browser'], browser.env).ended, { code: 0 });
  t.equal(browser.opened().length, 1);
});

t.test('OAU-5 · a warning stands on standard error, and the login goes on', async (t) => {
  const warning = { kind: 'warning', code: 'document-status', message: 'the document answers 404\u001b[2J' };
  const { home } = await stage(t, { hub: [{ report: address }, { report: warning }, { result: {} }] });
  const { code: exit, stderr } = await startCli(t, home, ['mcp', 'login', 'hub', '--no-browser']).ended;
  t.equal(exit, 0);
  t.match(stderr, /^agent: hub: warning: the document answers 404.\[2J \[document-status\]\n$/);
});

t.test('DEV-1 · a code is shown with its address and its life, and nothing is opened', async (t) => {
  const whole = { ...code, verification_uri_complete: 'https://as.example/activate?c=WDJB' };
  const { home, asked } = await stage(t, { hub: [{ report: whole }, { result: {} }] });
  const browser = installBrowser(home, { onlyOpens: true });

  const { stdout } = await startCli(t, home, ['mcp', 'login', 'hub', '--flow', 'device'], browser.env).ended;

  t.match(
    stdout,
    /^To log in to hub, open https:\/\/as\.example\/activate on any device and enter the code:\n\n {2}WDJB-MJHT\n/,
  );
  t.match(stdout, 'Or open https://as.example/activate?c=WDJB\n');
  t.match(stdout, 'Waiting; the code is good for 300 s. Ctrl-C cancels.\n');
  t.match(asked, [{ params: { flow: 'device' } }]);
  t.same(browser.opened(), []);
});

t.test(
  'DEV-1 · at a terminal the life of the code counts down',
  { skip: spawnSync('script', ['-V']).status !== 0 },
  async (t) => {
    const { home } = await stage(t, { hub: [{ report: code }, 'waits'] });
    const child = spawn('script', ['-qec', `${process.execPath} ${main} mcp login hub --flow device`, '/dev/null'], {
      env: { ...process.env, AGENT_HOME: home.path, NO_COLOR: '1' },
      stdio: ['pipe', 'pipe', 'ignore'],
    });
    const text = collected(child.stdout);
    const ended = new Promise((resolve) => child.once('close', resolve));
    await eventually(() => /good for 4:5\d/.test(text()));
    // Ctrl-C, as a terminal sends it.
    child.stdin.write('\u0003');
    await ended;
    t.match(text(), /good for 5:00\./);
    t.ok(text().includes('\r\u001b[Kagent: hub: the login was cancelled'), 'the line is taken away before the outcome');
  },
);

t.test('CLI-2 · OAU-8 · untrusted text cannot move the cursor, and every ending has its code', async (t) => {
  const { home } = await stage(t, {
    evil: [
      { report: { ...code, user_code: '\u001b[2J\u202eHT', verification_uri: 'https://a\u0007' } },
      { result: {} },
    ],
    denied: [{ error: 'mcp server "denied": \u001b[31mno', code: 'login-stopped' }],
    gone: [{ report: code }, 'hangs up'],
  });
  const evil = await startCli(t, home, ['mcp', 'login', 'evil']).ended;
  for (const sign of ['\u001b', '\u0007', '\u202e']) t.notOk(evil.stdout.includes(sign), JSON.stringify(sign));
  t.match(evil, { code: 0 });
  const denied = await startCli(t, home, ['mcp', 'login', 'denied']).ended;
  t.match(denied, { code: 1, stdout: '', stderr: /^agent: mcp server "denied": .*no \[login-stopped\]\n/m });
  t.notMatch(denied.stderr, '\u001b');
  t.match(await startCli(t, home, ['mcp', 'login', 'gone']).ended, { code: 1, stderr: /agent: gone: \S/ });
  t.match(await startCli(t, makeHome(t), ['mcp', 'login', 'hub']).ended, { code: 3 });
  t.match(await startCli(t, home, ['mcp', 'login']).ended, { code: 2 });
  t.match(await startCli(t, home, ['mcp', 'reauth']).ended, { code: 2, stderr: /name one server, or give --all/ });
  t.match(await startCli(t, home, ['mcp', 'reauth', 'hub', '--all']).ended, { code: 2 });
});

t.test('OAU-8 · what is typed is handed to the login, a refusal of it shown, and Ctrl-C hangs up', async (t) => {
  const { home, asked, left } = await stage(t, {
    hub: [{ report: address }, 'waits'],
    'mcp.loginPaste': [{ error: 'no login to "hub" waits for this', code: 'login-paste' }],
  });
  const running = startCli(t, home, ['mcp', 'login', 'hub']);
  await running.shows(/paste the address/);
  running.type('');
  running.type('http://127.0.0.1:1/callback?code=c');
  await running.shows(/agent: no login to "hub" waits for this/);
  t.same(asked.at(-1), {
    method: 'mcp.loginPaste',
    params: { server: 'hub', url: 'http://127.0.0.1:1/callback?code=c' },
  });

  running.interrupt();

  t.match(await running.ended, { code: 130, stderr: /agent: hub: the login was cancelled \[login-stopped\]/ });
  await eventually(() => left() > 0);
  t.equal(asked.length, 2, 'an empty line is nothing');
});

t.test('OAU-8 · reauth --all: each in its profile, made again, one at a time; a failure is summed up', async (t) => {
  const { home, asked } = await stage(t, {
    'mcp.oauthServers': [
      {
        result: [
          { profile: 'default', server: 'a' },
          { profile: 'work', server: 'b' },
          { profile: 'work', server: 'a' },
        ] as never,
      },
    ],
    a: [{ result: {} }],
    b: [{ error: 'denied', code: 'login-stopped' }],
  });

  const { code: exit, stdout, stderr } = await startCli(t, home, ['mcp', 'reauth', '--all']).ended;

  t.equal(exit, 1);
  t.match(stdout, 'Logged in to a.\nLogged in to a of profile work.\n2 of 3 logged in; failed: b of profile work\n');
  t.match(stderr, 'agent: b of profile work: denied [login-stopped]');
  t.same(
    asked.filter(({ method }) => method === 'mcp.login').map(({ params }) => params),
    [
      { server: 'a', profile: 'default', again: true },
      { server: 'b', profile: 'work', again: true },
      { server: 'a', profile: 'work', again: true },
    ],
  );
});

t.test('OAU-8 · CLI-2 · reauth --all with a profile logs in to the servers of that profile alone', async (t) => {
  const servers = [
    { profile: 'default', server: 'a' },
    { profile: 'work', server: 'b' },
  ] as never;
  const { home, asked } = await stage(t, { 'mcp.oauthServers': [{ result: servers }], b: [{ result: {} }] });

  const work = await startCli(t, home, ['mcp', 'reauth', '--all', '--profile', 'work']).ended;

  t.match(work, { code: 0, stdout: 'Logged in to b of profile work.\n' });
  t.strictSame(
    asked.filter(({ method }) => method === 'mcp.login').map(({ params }) => params),
    [{ server: 'b', profile: 'work', again: true }],
  );
});

t.test('OAU-8 · reauth --all without any server to log in to is done', async (t) => {
  const { home } = await stage(t, { 'mcp.oauthServers': [{ result: [] as never }] });
  t.match(await startCli(t, home, ['mcp', 'reauth', '--all']).ended, {
    code: 0,
    stdout: 'No server logs in by OAuth.\n',
  });
});
