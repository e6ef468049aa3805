import { appendFileSync, readFileSync } from 'node:fs';
import t, { type Test } from 'tap';
import { askCli, type Daemon, startDaemon } from '../support/daemon.ts';
import { makeHome, type TestHome } from '../support/home.ts';
import { postSigned } from '../support/sign.ts';
import { cliJson, secret, webhookConfig } from '../support/webhook-home.ts';

/** An agent that writes down when it begins and ends, and holds its place until the spec lets it go. */
const agent = `read -r p
echo "begin $p" >> steps.txt
while ! grep -qx "$p" go.txt; do sleep 0.02; done
echo "end $p" >> steps.txt
`;

async function start(t: Test, routes: string, concurrency: number, subscriptions: object = {}) {
  const home = makeHome(t, {
    'config.yaml': webhookConfig(routes, {
      more: `agent: {runner: command, command: [bash, scripts/agent.sh], concurrency: ${concurrency}}`,
    }),
    'webhook_subscriptions.json': JSON.stringify(subscriptions),
    'scripts/agent.sh': agent,
    'steps.txt': '',
    'go.txt': '',
  });
  return { home, daemon: await startDaemon(t, home.path) };
}

const stepsOf = (home: TestHome): string[] =>
  readFileSync(`${home.path}/steps.txt`, 'utf8').split('\n').filter(Boolean);
const letGo = (home: TestHome, name: string): void => appendFileSync(`${home.path}/go.txt`, `${name}\n`);

async function steps(home: TestHome, count: number): Promise<string[]> {
  while (stepsOf(home).length < count) await new Promise((resolve) => setTimeout(resolve, 10));
  return stepsOf(home);
}

async function send(daemon: Daemon, route: string, n: string, id = 'x'): Promise<void> {
  const answer = await postSigned(`${daemon.url}/webhooks/${route}`, { n, id }, { secret });
  if (answer.status !== 202) throw new Error(JSON.stringify(answer));
}

t.test('DIS-3 · so many runs at once over all, so many of one route', async (t) => {
  const routes = '        one: {prompt: "{n}", concurrency: 1}\n        any: {prompt: "{n}"}\n';
  const { daemon, home } = await start(t, routes, 2);
  for (const [route, n] of [
    ['one', 'a'],
    ['one', 'b'],
    ['any', 'c'],
    ['any', 'd'],
  ] as const) {
    await send(daemon, route, n);
  }
  t.same(new Set(await steps(home, 2)), new Set(['begin a', 'begin c']), 'b waits for its route, d for a place');
  letGo(home, 'c');
  t.same((await steps(home, 4)).slice(2), ['end c', 'begin d']);
  letGo(home, 'a');
  t.same((await steps(home, 6)).slice(4), ['end a', 'begin b']);
  letGo(home, 'b');
  letGo(home, 'd');
  await steps(home, 8);
});

t.test(
  'DIS-3 · SUB-1 · HOME-4 · runs of a route and of a subscription wait from the hold to the release',
  async (t) => {
    const routes =
      '        ci: {prompt: "{n}", concurrency: 2} # builds\n        # the rest\n        any: {prompt: "{n}"}\n';
    const { daemon, home } = await start(t, routes, 1, { sub: { prompt: '{n}', secret } });
    const text = readFileSync(`${home.path}/config.yaml`, 'utf8');
    await send(daemon, 'ci', 'a');
    t.same(await steps(home, 1), ['begin a']);
    await send(daemon, 'ci', 'b');
    await send(daemon, 'sub', 's');
    await send(daemon, 'any', 'c');
    for (const name of ['ci', 'sub'])
      t.same(await cliJson(home.path, 'webhook', 'hold', name), { name, profile: 'default', held: true, waiting: 1 });
    t.equal(
      readFileSync(`${home.path}/config.yaml`, 'utf8'),
      text.replace('2} # builds', '2, held: true} # builds'),
      'the limit and the comments stay',
    );
    letGo(home, 'a');
    t.same((await steps(home, 3)).slice(1), ['end a', 'begin c'], 'those before it wait, and what has begun continues');
    letGo(home, 'c');
    await steps(home, 4);
    await daemon.kill('SIGTERM');
    const again = await startDaemon(t, home.path);
    letGo(home, 'f');
    await send(again, 'any', 'f');
    t.same((await steps(home, 6)).slice(4), ['begin f', 'end f'], 'after a restart too');
    await send(again, 'ci', 'd');
    const waits = await askCli(['webhook', 'test', 'ci', '--payload', '{"n": "e"}'], home.path);
    t.match(waits.stdout, /"accepted"[\s\S]*\nHeld: route ci is held\. The run begins once you release it\.\n/);
    t.match(await askCli(['webhook', 'hold', 'ci'], home.path), {
      code: 0,
      stdout: /held already.* 3 runs wait now\.$/m,
    });
    for (const name of ['b', 'd', 'e', 's']) letGo(home, name);
    const ended = /^Released ci: 3 runs that waited begin as slots become free\.$/m;
    t.match(await askCli(['webhook', 'release', 'ci'], home.path), { code: 0, stdout: ended });
    t.same((await steps(home, 12)).slice(6), ['begin b', 'end b', 'begin d', 'end d', 'begin e', 'end e']);
    t.equal(readFileSync(`${home.path}/config.yaml`, 'utf8'), text);
    await askCli(['webhook', 'release', 'sub'], home.path);
    t.same((await steps(home, 14)).slice(12), ['begin s', 'end s']);
  },
);

t.test('COA-3 · a batch that settles while the run before it is under way waits for it', async (t) => {
  const routes = '        co: {prompt: "{n}", coalesce: {key: id, window_seconds: 0.1, max_wait_seconds: 1}}\n';
  const { daemon, home } = await start(t, routes, 4);
  await send(daemon, 'co', 'a');
  t.same(await steps(home, 1), ['begin a']);
  await send(daemon, 'co', 'b');
  await send(daemon, 'co', 'other', 'y');
  t.same((await steps(home, 2)).slice(1), ['begin other'], 'another group waits for nobody');
  letGo(home, 'other');
  await steps(home, 3);
  letGo(home, 'a');
  t.same((await steps(home, 5)).slice(3), ['end a', 'begin b']);
  letGo(home, 'b');
  await steps(home, 6);
});

t.test('LIM-4 · so many scripts at once over all routes, and the next when one has ended', async (t) => {
  const scripted = ['one', 'two'].map((name) => `        ${name}: {prompt: "{n}", script: held.sh}\n`).join('');
  const home = makeHome(t, {
    'config.yaml': webhookConfig(`${scripted}        plain: {prompt: "{n}"}\n`, { webhook: 'script_concurrency: 1' }),
    'scripts/held.sh': `${agent.replace('read -r p', 'p=$(grep -o "[ab]" | head -n 1)')}echo seen\n`,
    'steps.txt': '',
    'go.txt': '',
  });
  const daemon = await startDaemon(t, home.path);
  const first = send(daemon, 'one', 'a');
  t.same(await steps(home, 1), ['begin a']);
  letGo(home, 'b');
  const second = send(daemon, 'two', 'b');
  // A script that might begin would have, while these are answered behind it.
  for (const n of ['c', 'd', 'e', 'f']) await send(daemon, 'plain', n);
  letGo(home, 'a');
  t.same(await steps(home, 4), ['begin a', 'end a', 'begin b', 'end b']);
  await Promise.all([first, second]);
});
