/** The log of the background gateway, read from its file while no gateway runs. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import t from 'tap';
import { sinceMs } from '../../machines/base/since.ts';
import { askCli, main } from '../support/daemon.ts';
import { makeHome } from '../support/home.ts';

const lineOf = (time: string, level: string, message: string): string =>
  `${JSON.stringify({ time, level, message, route: 'gh' })}\n`;

const log = [
  lineOf('2026-01-01T10:00:00.000Z', 'info', 'old'),
  lineOf('2026-01-02T10:00:00.000Z', 'error', 'broken'),
  'Error: broken\n',
  '    at place\n',
  lineOf('2026-01-03T10:00:00.000Z', 'debug', 'detail \u001b[2J'),
].join('');

t.test('CLI-6 · a period begins at a time, or so long ago', (t) => {
  const nowMs = Date.parse('2026-01-10T00:00:00Z');
  const rows: readonly (readonly [text: string, iso: string | undefined])[] = [
    ['90s', '2026-01-09T23:58:30.000Z'],
    ['15m', '2026-01-09T23:45:00.000Z'],
    ['2h', '2026-01-09T22:00:00.000Z'],
    ['3d', '2026-01-07T00:00:00.000Z'],
    ['2026-01-02', '2026-01-02T00:00:00.000Z'],
    ['2026-01-02T10:00:00+01:00', '2026-01-02T09:00:00.000Z'],
    ['2024-02-29', '2024-02-29T00:00:00.000Z'],
    ['2026-02-29', undefined],
    ['2026-02-30T10:00:00+01:00', undefined],
    ['2026-04-31', undefined],
    ['2026-01-02T25:00', undefined],
    ['2026-13-02', undefined],
    ['yesterday', undefined],
    ['2 h', undefined],
    ['', undefined],
  ];
  for (const [text, iso] of rows) {
    const ms = sinceMs(text, nowMs);
    t.equal(ms === undefined ? undefined : new Date(ms).toISOString(), iso, text);
  }
  t.end();
});

t.test('CLI-6 · the log is shown by level, since and limit, for people and as it is', async (t) => {
  const home = makeHome(t, { 'logs/gateway.log': log });
  const logs = async (...words: readonly string[]) => askCli(['gateway', 'logs', ...words], home.path);
  t.equal(
    (await logs()).stdout,
    '  2026-01-01 10:00:00Z info  old route=gh\n  2026-01-02 10:00:00Z error broken route=gh\n  Error: broken\n  at place\n  2026-01-03 10:00:00Z debug detail \uFFFD[2J route=gh\n',
  );
  const failed = '  2026-01-02 10:00:00Z error broken route=gh\n  Error: broken\n  at place\n';
  t.equal((await logs('--level', 'warn')).stdout, failed, 'a stack trace belongs to its line');
  t.equal((await logs('--since', '2026-01-02T00:00:00Z', '--level', 'info')).stdout, failed);
  t.equal((await logs('--since', '2026-01-03T00:00:00Z', '--json')).stdout, log.split('\n').slice(-2).join('\n'));
  const short = await logs('--limit', '1');
  t.equal(short.stdout, '  2026-01-03 10:00:00Z debug detail \uFFFD[2J route=gh\n');
  t.equal(short.stderr, 'agent: 1 of 5 lines; --limit 2 shows more\n', 'in a pipe it is said beside the lines');
  t.equal((await logs('--limit', '5')).stderr, '');
  home.write('logs/gateway.log.1', lineOf('2025-12-31T10:00:00.000Z', 'error', 'earlier'));
  t.equal((await logs('--level', 'warn')).stdout, `  2025-12-31 10:00:00Z error earlier route=gh\n${failed}`);
  for (const time of ['yesterday', '2026-02-30']) {
    const misused = await logs('--since', time);
    t.equal(misused.code, 2);
    t.match(misused.stderr, `--since "${time}" must be a time, such as 2h, 3d or 2026-01-31T12:00:00Z`);
  }
  const none = await askCli(['gateway', 'logs'], makeHome(t).path);
  t.equal(none.code, 1);
  t.match(none.stderr, /gateway\.log does not exist: .*`journalctl --user -u agent-gateway`/);
  const ofMachine = await askCli(['gateway', 'logs'], '/var/lib/agent-gateway');
  t.match(ofMachine.stderr, /`journalctl -u agent-gateway`/, 'the home of a unit of the machine');
});

t.test('CLI-6 · --follow prints what is added, also to a file that replaced the log, until Ctrl-C', async (t) => {
  const home = makeHome(t, { 'logs/gateway.log': log });
  const path = `${home.path}/logs/gateway.log`;
  const child = spawn(process.execPath, [main, 'gateway', 'logs', '--follow'], {
    env: { ...process.env, AGENT_HOME: home.path },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  let printed = '';
  const reaches = async (text: string): Promise<void> => {
    while (!printed.includes(text)) printed += String((await once(child.stdout, 'data'))[0]);
  };
  await reaches('detail');
  const added = lineOf('2026-01-04T10:00:00.000Z', 'info', 'added');
  appendFileSync(path, added.slice(0, 20));
  appendFileSync(path, added.slice(20));
  await reaches('info  added');
  renameSync(path, `${path}.1`);
  home.write('logs/gateway.log', lineOf('2026-01-05T10:00:00.000Z', 'info', 'anew'));
  await reaches('info  anew');
  const filler = lineOf('2026-01-05T10:00:00.000Z', 'info', 'x'.repeat(1_000));
  appendFileSync(path, filler);
  await reaches('xxx route=gh\n');
  // As the gateway does it, between two looks of the follower.
  const unread = lineOf('2026-01-05T10:00:01.000Z', 'info', 'unread');
  writeFileSync(`${path}.1`, readFileSync(path, 'utf8') + unread);
  writeFileSync(path, lineOf('2026-01-05T10:00:02.000Z', 'info', 'newest'));
  await reaches('info  newest');
  t.match(printed, /info {2}unread route=gh\n[^\n]*info {2}newest/);
  t.equal(printed.split('\n').length, 11, 'each line once');
  const ended = once(child, 'exit');
  child.kill('SIGINT');
  t.same(await ended, [130, null]);
});
