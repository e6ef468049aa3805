import { existsSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import t from 'tap';
import { checkAgent, checkServers, checkTargets } from '../../../runtime/doctor/check-reach.ts';
import { answering, codes, examined, troubles } from '../../support/examined.ts';
import { listenHttp } from '../../support/http-listener.ts';
import { lentTime } from '../../support/lent-time.ts';
import { until } from '../../support/processes.ts';

const servers = {
  'config.yaml':
    'mcp_servers: {a: {command: /nowhere/mcp}, b: {url: "https://x.example/mcp", auth: oauth}, off: {command: x, enabled: false}}\n',
};

t.test('LIF-1 · LIF-14 · CLI-2 · a running gateway says how its servers stand', async (t) => {
  const row = (name: string, state: string, more = {}) => ({ name, profile: 'default', state, ...more });
  const gateway = answering({
    'mcp.list': [
      row('a', 'parked', { error: 'it ended with 1' }),
      row('b', 'needsLogin'),
      row('c', 'connected'),
      row('d', 'lazy'),
      { ...row('e; x', 'failed'), profile: 'work' },
      row('f', 'connecting'),
      row('again', 'connecting', { error: 'no answer in 60 s', failures: 1 }),
      row('after-login', 'connecting', { error: 'needs a login' }),
      row('g', 'connected', { left_out: ['its tool "x" is left out: a reason'] }),
      row('unset', 'parked', { error: 'it ended with 1', unset: ['refers to "KEY"; set KEY in .env'] }),
      row('My notes', 'failed'),
    ],
  });
  const found = troubles(await checkServers({ ...examined(t, servers), gateway }));
  t.same(codes(found), [
    'wrong server-unreachable',
    'warning server-login',
    'wrong server-unreachable',
    'note server-waiting',
    'wrong server-unreachable',
    'note server-waiting',
    'warning server-tools',
    'wrong server-unreachable',
    'wrong server-unreachable',
  ]);
  const cure = 'it refers to "KEY"; set KEY in .env; agent mcp test unset; agent mcp logs unset';
  t.equal(found.at(-2)?.cure, cure, 'the likely cause comes first');
  t.equal(found.at(-1)?.cure, "agent mcp test 'My notes'; agent mcp logs 'My notes'", 'as a shell reads it');
  t.match(found, [
    { what: 'it ended with 1', cure: /agent mcp test a/ },
    { cure: 'agent mcp login b' },
    { place: 'e; x@work', cure: "agent mcp test 'e; x' --profile work; agent mcp logs 'e; x' --profile work" },
  ]);
});

t.test('CLI-2 · servers that the gateway does not answer for are not said to answer', async (t) => {
  const found = troubles(await checkServers({ ...examined(t, servers), gateway: answering({}) }));
  t.match(found, [{ level: 'note', code: 'not-asked', place: 'a, b' }]);
});

t.test('CLI-2 · DEV-5 · without a gateway a server is connected to once, and no login begins', async (t) => {
  const found = troubles(await checkServers(examined(t, servers)));
  t.same(codes(found), ['wrong server-unreachable', 'note not-asked']);
  t.match(found[0]?.what, /nowhere\/mcp/);
  const offline = await checkServers({ ...examined(t, servers), offline: true });
  t.same(codes(offline), ['note not-asked', 'note not-asked']);
  t.same(codes(await checkServers(examined(t))), []);
});

t.test('CLI-2 · LIF-3 · a server that has more time than doctor gives it is not said to be wrong', async (t) => {
  const { url } = await listenHttp(t, () => {});
  const slow = (seconds: number) =>
    examined(t, { 'config.yaml': `mcp_servers: {a: {url: "${url}/mcp", connect_timeout: ${seconds}}}\n` });
  const what = 'no answer in 0.05 s; this check waits no longer';
  t.match(await checkServers(slow(60), 50), [{ level: 'warning', what, cure: 'agent mcp test a' }]);
  for (const patienceMs of [60_000, 1_000]) {
    const found = await checkServers(slow(1), patienceMs);
    t.match(found, [{ level: 'wrong', what: /^no answer in 1 s.*raise connect_timeout$/ }], `${patienceMs} ms`);
  }
});

t.test('CLI-2 · LIF-3 · of a server that is slow to start, its last words are shown', async (t) => {
  const script = 'echo needs DATABASE_URL >&2; touch said; cat >/dev/null';
  const entry = `mcp_servers: {a: {command: sh, args: [-c, "${script}"], connect_timeout: 60}}\n`;
  const one = examined(t, { 'config.yaml': entry });
  const time = lentTime(t);
  const checked = checkServers(one);
  await until(() => existsSync(`${one.paths.home}/said`));
  // Its words are in the pipe by now, and are read before a timer ends.
  await wait(5);
  time.pass(15_000);
  time.giveBack();
  const what =
    'no answer in 15 s; this check waits no longer; it said: needs DATABASE_URL; try its command in a terminal';
  t.match(await checked, [{ level: 'warning', what }]);
});

t.test('OBS-1 · CLI-2 · a server that quotes a secret brings it into no finding', async (t) => {
  const { url } = await listenHttp(t, (request, response) => {
    response.writeHead(500).end(`no such key: ${request.headers['x-api-key']}`);
  });
  const one = examined(t, {
    '.env': 'KEY=a-planted-api-token\n',
    'config.yaml': `mcp_servers: {a: {url: "${url}/mcp", headers: {X-Api-Key: "\${KEY}"}}}\n`,
  });
  const [found] = troubles(await checkServers(one));
  t.match(found, { code: 'server-unreachable', what: /no such key: \[redacted\]/ });
});

t.test('CFG-3 · CLI-2 · a finding of the configuration is not repeated for its server', async (t) => {
  const one = examined(t, { 'config.yaml': 'mcp_servers: {bad: {command: x, tiemout: 3}}\n' });
  const gateway = answering({ 'mcp.list': [{ name: 'bad', profile: 'default', state: 'failed', error: 'tiemout' }] });
  t.same(await checkServers({ ...one, gateway }), []);
  t.same(await checkServers(one), []);
});

t.test('DLV-1 · CLI-2 · targets are reported by the gateway that asks them', async (t) => {
  const one = examined(t, {
    'config.yaml': 'platforms: {telegram: {enabled: true, bot_token: x, home_channel: "1"}}\n',
  });
  t.same(codes(await checkTargets(one)), ['note not-asked']);
  const rows = [{ name: 'telegram', profile: 'default', state: 'failed', error: 'telegram: the token is wrong' }];
  const gateway = answering({ 'deliveries.targets': rows });
  t.match(troubles(await checkTargets({ ...one, gateway })), [
    {
      level: 'wrong',
      code: 'target-unreachable',
      place: 'telegram',
      what: 'the token is wrong',
      cure: /if it was not reached/,
    },
  ]);
  t.same(
    codes(
      await checkTargets({
        ...one,
        gateway: answering({ 'deliveries.targets': [{ name: 'telegram', state: 'connected' }] }),
      }),
    ),
    [],
  );
});

t.test('CLI-2 · the agent’s command must be there', (t) => {
  const of = (text: string) => codes(checkAgent(examined(t, { 'config.yaml': text })));
  t.same(of('agent: {runner: command, command: [/nowhere/agent, run]}\n'), ['wrong command-missing']);
  t.same(of('agent: {runner: command, command: [sh, -c, "true"]}\n'), []);
  t.same(of('agent: {runner: echo}\n'), []);
  const route =
    'platforms: {webhook: {enabled: true, secret: any-secret-at-all, routes: {r: {prompt: p, deliver: github_comment}}}, github_comment: {command: /nowhere/gh}}\n';
  t.same(of(route), ['wrong command-missing']);
  t.same(of(route.replaceAll('github_comment', 'codehost_comment')), ['wrong command-missing']);
  t.same(of(route.replace('deliver:', 'on_failure:')), ['wrong command-missing'], 'of failed runs alone');
  t.end();
});

t.test('CLI-2 · PRF-2 · a command is looked for from the home of its profile, as it is started', (t) => {
  const runner = 'agent: {runner: command, command: [scripts/agent.sh]}\n';
  const files = {
    'config.yaml': `gateway: {multiplex_profiles: true}\n${runner}`,
    'scripts/agent.sh': '#!/bin/sh\n',
    'profiles/work/config.yaml': runner,
  };
  t.match(troubles(checkAgent(examined(t, files))), [{ code: 'command-missing', place: 'scripts/agent.sh@work' }]);
  const complete = { ...files, 'profiles/work/scripts/agent.sh': '#!/bin/sh\n' };
  t.same(codes(checkAgent(examined(t, complete))), []);
  const elsewhere = files['profiles/work/config.yaml'].replace('agent: {', 'agent: {cwd: /, ');
  t.same(codes(checkAgent(examined(t, { ...complete, 'profiles/work/config.yaml': elsewhere }))), [
    'wrong command-missing',
  ]);
  t.end();
});
