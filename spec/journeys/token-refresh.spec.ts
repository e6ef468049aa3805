/** How tokens are renewed, in a real daemon and in several processes at once, and what happens when they cannot be. */

import { spawn } from 'node:child_process';
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import t, { type Test } from 'tap';
import { controlOf, eventually, streamsOpen, wordsOf } from '../support/mcp/gateway.ts';
import { documentFor, paths as oidc, startAuthorizationServer } from '../support/oauth/authorization-server.ts';
import type { SeenByServer } from '../support/oauth/http.ts';
import { pinnedTurn } from '../support/oauth/ports.ts';
import {
  type Answer,
  oauthError,
  paths,
  type ScriptedServer,
  startScriptedServer,
} from '../support/oauth/scripted-server.ts';
import { follow, type OauthStage, oauthStage } from '../support/oauth/stage.ts';
import { collected } from '../support/processes.ts';
import { isEachTier } from '../support/tier.ts';

await pinnedTurn();

const child = new URL('../support/oauth/refreshing-child.js', import.meta.url).pathname;

/** A stage whose person has logged in and whose server is connected. */
async function loggedIn(t: Test): Promise<OauthStage<ScriptedServer>> {
  const stage = await oauthStage(
    t,
    await startScriptedServer(t),
    {},
    { entry: { supports_parallel_tool_calls: true } },
  );
  t.equal(await (await stage.logIn()).ended, 'loggedIn');
  await stage.gateway.reaches('hub', 'connected');
  // It bears a token too.
  await streamsOpen(stage.peer);
  return stage;
}

const renewals = (requests: readonly SeenByServer[]): readonly SeenByServer[] =>
  requests.filter(({ form }) => form.get('grant_type') === 'refresh_token');

/** Makes the stored access token one that has ended by the clock. */
function age(file: string): void {
  const stored = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
  writeFileSync(
    file,
    JSON.stringify({ ...stored, expires_at_ms: Date.now() - 1, issued_at_ms: Date.now() - 3_600_000 }),
  );
}

interface Racer {
  go(): void;
  kill(): void;
  readonly outcomes: Promise<readonly unknown[]>;
}

/** A process of its own that makes so many calls with the same credentials once it is told to. */
async function racer(t: Test, stage: OauthStage<unknown>, calls: number): Promise<Racer> {
  const process_ = spawn(process.execPath, [child, dirname(stage.file('')), stage.peer.url, String(calls)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  t.teardown(() => void process_.kill('SIGKILL'));
  const text = collected(process_.stdout);
  const outcomes = new Promise<readonly unknown[]>((resolve) =>
    process_.once('close', () => resolve(JSON.parse(text().split('\n')[1] || '[]') as unknown[])),
  );
  await eventually(() => text().startsWith('ready\n'));
  return { go: () => void process_.stdin.write('go\n'), kill: () => void process_.kill('SIGKILL'), outcomes };
}

t.test('OAU-1 · fifty calls at once with a token that the server refuses: one renewal, and all succeed', async (t) => {
  const { gateway, authority, browser, peer } = await loggedIn(t);
  authority.expireTokens();
  const before = peer.bearers().length;
  authority.on(paths.token, async (seen) => {
    await eventually(() => peer.bearers().length >= before + 50);
    return authority.usual(seen);
  });

  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, index) => gateway.call('mcp__hub__echo', { text: String(index) })),
  );

  t.same(
    answers.map(wordsOf),
    answers.map((_, index) => String(index)),
  );
  t.equal(renewals(authority.at(paths.token)).length, 1);
  t.same(browser.opened(), [], 'the person was not asked');
  t.match(await gateway.server('hub'), { state: 'connected' });
});

t.test(
  'OAU-1 · a real authorization server that rotates: renewed again and again, never with a spent token',
  async (t) => {
    const authority = await startAuthorizationServer(t);
    const stage = await oauthStage(t, authority);
    t.equal(await (await stage.logIn()).ended, 'loggedIn');
    await stage.gateway.reaches('hub', 'connected');
    await streamsOpen(stage.peer);
    for (let round = 1; round <= 3; round += 1) {
      authority.expireTokens();
      const answers = await Promise.all(
        Array.from({ length: 20 }, () => stage.gateway.call('mcp__hub__echo', { text: 'x' })),
      );
      t.same(new Set(answers.map(wordsOf)), new Set(['x']), `round ${round}`);
      t.equal(renewals(authority.at(oidc.token)).length, round);
    }
    const spent = renewals(authority.at(oidc.token)).map(({ form }) => form.get('refresh_token'));
    t.equal(new Set(spent).size, 3, 'each token is shown once');
  },
);

t.test('OAU-1 · OAU-2 · five processes and the daemon with one rotating refresh token: one renewal', async (t) => {
  const stage = await loggedIn(t);
  const { gateway, authority, file } = stage;
  const racers = await Promise.all(Array.from({ length: 5 }, () => racer(t, stage, 10)));
  age(file('.json'));
  authority.expireTokens();

  for (const { go } of racers) go();
  const own = await Promise.all(
    Array.from({ length: 10 }, (_, index) => gateway.call('mcp__hub__echo', { text: String(index) })),
  );

  t.same(
    own.map(wordsOf),
    own.map((_, index) => String(index)),
  );
  for (const { outcomes } of racers) {
    const statuses = await outcomes;
    t.equal(statuses.length, 10);
    // A ping without a session is refused as such: behind the check of the token.
    t.notOk(
      statuses.some((status) => status === 401 || typeof status === 'string'),
      JSON.stringify(statuses),
    );
  }
  t.equal(renewals(authority.at(paths.token)).length, 1, 'one token request for sixty calls in six processes');
  t.match(await gateway.server('hub'), { state: 'connected' });
});

t.test('OAU-2 · a process that is killed while it renews delays no other', async (t) => {
  const stage = await loggedIn(t);
  const { gateway, authority, file } = stage;
  const first = await racer(t, stage, 1);
  age(file('.json'));
  authority.on(paths.token, { kind: 'hang' });
  first.go();
  await eventually(() => renewals(authority.at(paths.token)).length === 1);
  t.ok(existsSync(`${file('.json')}.lock`), 'it holds the lock');
  authority.on(paths.token, undefined);

  const waiting = gateway.call('mcp__hub__echo', { text: 'after' });
  first.kill();
  await first.outcomes;

  t.equal(wordsOf(await waiting), 'after');
  t.equal(renewals(authority.at(paths.token)).length, 2);
  await eventually(() => !existsSync(`${file('.json')}.lock`));
});

t.test(
  'OAU-1 · a reconnect during a renewal loses nothing: its tokens are stored, and none is spent twice',
  async (t) => {
    const { gateway, authority, file } = await loggedIn(t);
    let letThrough = (): void => {};
    const gate = new Promise<void>((resolve) => {
      letThrough = resolve;
    });
    const posts = renewals(authority.at(paths.token)).length;
    authority.on(paths.token, async (seen) => {
      const answer = authority.usual(seen);
      await gate;
      return answer;
    });
    const before = readFileSync(file('.json'), 'utf8');
    authority.expireTokens();
    const called = gateway.call('mcp__hub__echo', { text: 'x' });
    await eventually(() => renewals(authority.at(paths.token)).length === posts + 1);

    await gateway.control.call('mcp.reconnect', { server: 'hub' });
    letThrough();

    await called;
    await gateway.reaches('hub', 'connected');
    t.equal(renewals(authority.at(paths.token)).length, posts + 1);
    t.not(readFileSync(file('.json'), 'utf8'), before);
    authority.on(paths.token, undefined);
    authority.expireTokens();
    t.equal((await gateway.call('mcp__hub__echo', { text: 'x' })).error, undefined, 'the refresh token is good');
  },
);

t.test('OAU-1 · OAU-8 · a network failure during renewal deletes nothing, starts nothing, and passes', async (t) => {
  const stage = await loggedIn(t);
  const { gateway, authority, browser, standing, file } = stage;
  age(file('.json'));
  const old = standing();
  const busy = / answers \[/;
  // At an address that its authorization server has left, for example.
  const odd = / answers; if its addresses have changed, log in again, which reads them anew \[/;
  const page = (status: number): Answer => ({ kind: 'text', status, text: '<h1>no</h1>', type: 'text/html' });
  const failures: readonly (readonly [string, () => void | Promise<void>, RegExp])[] = [
    ['a reset', () => authority.on(paths.token, { kind: 'reset' }), busy],
    ['502 and a page', () => authority.on(paths.token, page(502)), busy],
    ['a redirect', () => authority.on(paths.token, { kind: 'redirect', to: 'https://as.invalid/token' }), odd],
    ['no server there', () => authority.stop(), busy],
  ];
  for (const [what, arrange, cure] of failures) {
    await arrange();
    const answer = await gateway.call('mcp__hub__echo', { text: 'x' });
    t.ok(answer.error !== undefined, what);
    t.not(answer.error?.code, 'needs_login', `${what}: no login is requested`);
    t.match(answer.error?.message, /cannot be renewed now/, what);
    t.match(`${answer.error?.message} [`, cure, what);
    t.same(standing(), old, `${what}: what is stored is untouched`);
    const row = await gateway.server('hub');
    t.not(row?.state, 'needsLogin', what);
  }
  t.same(browser.opened(), []);
  t.same(authority.at(paths.device), [], 'no device login either');
  t.equal(authority.at(paths.register).length, 1, 'nor a new client');

  await authority.restart();
  authority.on(paths.token, undefined);
  await gateway.cli('mcp', 'reload', 'hub');
  await gateway.reaches('hub', 'connected');
  t.equal(wordsOf(await gateway.call('mcp__hub__echo', { text: 'back' })), 'back');
});

t.test(
  'OAU-1 · OAU-8 · a grant that is gone needs a person: the command is shown, nothing is deleted or asked again',
  async (t) => {
    const { gateway, authority, browser, standing, logIn } = await loggedIn(t);
    const errors = [
      ['invalid_grant', 400],
      ['invalid_client', 401],
      ['unauthorized_client', 400],
      ['invalid_target', 400],
    ] as const;
    // What a renewal means by each of them is a rule, with a spec of its own.
    for (const [error, status] of isEachTier ? errors.slice(0, 1) : errors) {
      authority.expireTokens();
      authority.on(paths.token, oauthError(error, status));
      const old = standing();

      t.match((await gateway.call('mcp__hub__echo', { text: 'x' })).error, { code: 'needs_login' }, error);

      const row = await gateway.reaches('hub', 'needsLogin');
      t.match(row.error, new RegExp(`cannot be renewed.*${error}.*run \`agent mcp login hub\``), error);
      const { stdout } = await gateway.cli('mcp', 'list');
      t.match(stdout, /needs login/, error);
      t.same(standing(), old, error);
      t.same(browser.opened(), [], error);
      const asked = authority.at(paths.token).length;
      await gateway.call('mcp__hub__echo', { text: 'x' });
      t.ok(authority.at(paths.token).length <= asked + 1, `${error}: the token endpoint is not hammered`);

      authority.on(paths.token, undefined);
      t.equal(await (await logIn()).ended, 'loggedIn');
      t.notMatch((await gateway.reaches('hub', 'connected')).error ?? '', /renewed/);
    }
  },
);

t.test('OAU-4 · a document that is refused at a renewal is recorded, and the next login registers', async (t) => {
  const url = 'https://agent.test/client.json';
  const authority = await startAuthorizationServer(t, { documents: new Map([[url, documentFor(url)]]) });
  const { gateway, file, logIn, login } = await oauthStage(t, authority, { client_metadata_url: url });
  t.equal(await (await logIn()).ended, 'loggedIn');
  await gateway.reaches('hub', 'connected');
  authority.expireTokens();
  authority.refuseDocuments('token');

  t.match((await gateway.call('mcp__hub__echo', { text: 'x' })).error, { code: 'needs_login' });

  await gateway.reaches('hub', 'needsLogin');
  await eventually(() => existsSync(file('.cimd-off')));
  t.equal(statSync(file('.cimd-off')).mode & 0o777, 0o600);
  await gateway.daemon.line(({ level, message }) => level === 'warn' && /the next login registers/.test(message));
  const control = await controlOf(t, gateway.home);
  const registered = authority.at(oidc.register).length;
  control.onNotification((_, progress) => follow(progress));
  await control.call('mcp.login', { server: 'hub', again: true });
  t.equal(authority.at(oidc.register).length, registered + 1, 'made again, it registers at once');
  t.ok(existsSync(file('.cimd-off')), 'and the record stays');

  authority.refuseDocuments(undefined);
  t.match(await login().ended, { code: 0 });
  t.notOk(existsSync(file('.cimd-off')), '`mcp login` clears it');
});

t.test('OAU-2 · a token file that cannot be used says so and is left alone; a login mends it', async (t) => {
  const { gateway, authority, file, logIn, peer } = await loggedIn(t);
  const good = readFileSync(file('.json'), 'utf8');
  const meta = readFileSync(file('.meta'), 'utf8');
  const reconnect = async (): Promise<void> => {
    const seen = peer.requests.length;
    await gateway.cli('mcp', 'reload', 'hub');
    await eventually(() => peer.requests.length > seen);
  };
  const change = (text: string, more: object): string => JSON.stringify({ ...JSON.parse(text), ...more });
  const rows: readonly (readonly [string, () => void, RegExp])[] = [
    ['corrupt', () => writeFileSync(file('.json'), good.slice(0, 30)), /hub\.json is damaged/],
    ['empty', () => writeFileSync(file('.json'), ''), /hub\.json is damaged/],
    ['no record', () => writeFileSync(file('.json'), 'null'), /hub\.json is damaged/],
    [
      'of another issuer',
      () => writeFileSync(file('.json'), change(good, { issuer: 'https://other.example', expires_at_ms: 1 })),
      /tokens are of another authorization server \(https:\/\/other\.example\)/,
    ],
    [
      'without its metadata',
      () => {
        writeFileSync(file('.json'), change(good, { expires_at_ms: 1 }));
        rmSync(file('.meta'));
      },
      /hub\.meta is missing or damaged/,
    ],
  ];
  for (const [what, arrange, reason] of rows) {
    arrange();
    const text = readFileSync(file('.json'), 'utf8');
    const asked = renewals(authority.at(paths.token)).length;
    await reconnect();
    const row = await gateway.reaches('hub', 'needsLogin');
    t.match(row.error, reason, what);
    t.match(row.error, 'run `agent mcp login hub`', what);
    t.equal(readFileSync(file('.json'), 'utf8'), text, `${what}: reading does not write`);
    t.equal(renewals(authority.at(paths.token)).length, asked, `${what}: no refresh token goes anywhere`);
    writeFileSync(file('.json'), good);
    writeFileSync(file('.meta'), meta);
    await reconnect();
    await gateway.reaches('hub', 'connected');
  }

  writeFileSync(file('.json'), 'damaged');
  await reconnect();
  await gateway.reaches('hub', 'needsLogin');
  t.equal(await (await logIn()).ended, 'loggedIn');
  await gateway.reaches('hub', 'connected');
});

t.test(
  'OAU-1 · OAU-8 · tokens that the server never takes, such as of another audience, end in needsLogin, not in a loop',
  async (t) => {
    const authority = await startScriptedServer(t);
    const stage = await oauthStage(t, { ...authority, accepts: () => false });

    t.equal(await (await stage.logIn()).ended, 'loggedIn');

    await eventually(() => stage.peer.bearers().some((token) => token !== undefined));
    const row = await stage.gateway.reaches('hub', 'needsLogin');
    t.match(row.error, 'run `agent mcp login hub`');
    t.ok(renewals(authority.at(paths.token)).length <= 2, 'renewed once, perhaps, and not again and again');
    t.same(stage.browser.opened(), []);
  },
);

t.test('OAU-8 · LIF-1 · OBS-1 · a token that the server refuses after a login is named, with the reason', async (t) => {
  const { gateway, logIn, peer, authority, file } = await loggedIn(t);
  const refusal = (description: string) => ({
    kind: 'answer' as const,
    status: 401,
    headers: { 'www-authenticate': 'Bearer error="invalid_token"' },
    contentType: 'application/json',
    body: JSON.stringify({ error: 'invalid_token', error_description: description }),
    when: ({ path }: { readonly path: string }) => !path.startsWith('/.well-known/'),
  });
  // Without a token for renewals, which would be refused first.
  authority.on(paths.token, (seen) => {
    const { json } = authority.usual(seen) as { readonly json: Record<string, unknown> };
    peer.spoil(refusal(`the audience of ${String(json.access_token)} is another`));
    return { json: { ...json, refresh_token: undefined } };
  });
  t.equal(await (await logIn()).ended, 'loggedIn');

  const row = await eventually(async () => {
    const found = await gateway.server('hub');
    return found?.state === 'needsLogin' ? found : undefined;
  });
  const why =
    'needs a login: the server refuses its token (the audience of [redacted] is another); run `agent mcp login hub`';
  t.equal(row.error, `mcp server "hub": ${why}`);
  t.match((await gateway.cli('doctor')).stdout.replace(/\s+/g, ' '), /the server refuses its token \(the audience of/);
  t.match((await gateway.logs('hub')).join('\n'), /the server refuses its token/);

  age(file('.json'));
  await gateway.cli('mcp', 'reload', 'hub');
  const aged = await eventually(async () => {
    const found = await gateway.server('hub');
    return /expired/.test(found?.error ?? '') ? found : undefined;
  });
  t.match(aged.error, /needs a login: its token has expired, and it has none for renewals; run `agent mcp login hub`$/);
});

t.test(
  'OAU-1 · OAU-8 · a scope that the token already has is named as such: another login would not help',
  async (t) => {
    const { gateway, login, peer } = await loggedIn(t);
    const demand = (scope: string) =>
      peer.spoil({
        kind: 'answer',
        status: 403,
        headers: { 'www-authenticate': `Bearer error="insufficient_scope"${scope}` },
        when: ({ body }) => JSON.stringify({ body }).includes('tools/call'),
      });
    const ask = async (): Promise<string> => (await gateway.call('mcp__hub__echo', { text: 'x' })).error?.message ?? '';

    demand(', scope="files:write"');
    t.equal(await ask(), 'mcp server "hub": mcp__hub__echo needs the scope "files:write"; run `agent mcp login hub`');
    demand(', scope="mcp:tools"');
    t.match(
      await ask(),
      /needs the scope "mcp:tools", although it was granted: another login may not help, ask the operator/,
    );
    demand('');
    t.match(
      await ask(),
      /needs a scope that the server does not name \(set oauth\.scope to it\); run `agent mcp login hub`$/,
    );
    t.match(
      await login().ended,
      { code: 0, stderr: /did not grant the scope "files:write", which the server demands.*\[scope-not-granted\]/ },
      'the login that requested it',
    );
  },
);
