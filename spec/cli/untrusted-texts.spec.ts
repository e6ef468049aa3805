/** What the command line shows of texts that senders, servers and files of others wrote. */

import { mkdirSync, writeFileSync } from 'node:fs';
import t from 'tap';
import { explainDelivery } from '../../cli/commands/inspect-why.ts';
import { line, whole } from '../../cli/draw.ts';
import { labelled, titled } from '../../cli/labelled.ts';
import { plain, printJson, table } from '../../cli/terminal.ts';
import { stageCommand } from '../support/command-stage.ts';
import { runCli } from '../support/daemon.ts';
import { makeHome } from '../support/home.ts';

const controls = '\u001b[2J\u009b31m\u202e\u2066\u2028\u2029\u061c\u200e\ufeff\u{e0041}';
const hostile = `one${controls}\r\nFORGED`;
/** What no line may hold, wherever it is shown. */
const moves = /(?!\n)\p{Cc}|[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]|[\u{e0000}-\u{e007f}]/u;

t.test('CLI-2 · SEC-7 · a job of a file that others wrote forges no line and moves no cursor', async (t) => {
  const home = makeHome(t);
  mkdirSync(`${home.path}/cron`, { recursive: true });
  const job = { id: 'j1', name: `job ${hostile}`, schedule: '0 9 * * *', prompt: hostile };
  writeFileSync(`${home.path}/cron/jobs.json`, JSON.stringify([job]));
  for (const words of [
    ['cron', 'show', 'j1'],
    ['cron', 'list'],
    ['cron', 'show', 'j1', '--json'],
    ['cron', 'list', '--json'],
  ]) {
    const { stdout, stderr } = await runCli(words, home.path);
    t.notMatch(stdout + stderr, moves, words.join(' '));
    t.notMatch(stdout, /^FORGED/m, words.join(' '));
    t.match(stdout, 'FORGED');
    if (words.includes('--json')) t.match(JSON.stringify(JSON.parse(stdout)), JSON.stringify(job.name).slice(1, -1));
  }
});

t.test('CLI-2 · SEC-7 · why a delivery stopped is shown without a line of its sender', async (t) => {
  const step = {
    state: 's',
    detail: hostile,
    rule: 'FIL-1',
    result: 'stopped',
    texts: [{ title: hostile, text: hostile }],
  };
  const answer = {
    delivery: hostile,
    route: hostile,
    event: hostile,
    received: '2026-01-01T00:00:00Z',
    verdict: hostile,
    cure: hostile,
    phases: [{ title: hostile, actor: hostile, began: 0, ended: 1, steps: [step] }],
  };
  for (const isTerminal of [false, true]) {
    const { context, seen } = stageCommand({ answer, args: ['x'], flags: { texts: true }, isTerminal });
    await explainDelivery(context);
    t.notMatch(seen.printed, moves);
    t.notMatch(seen.printed, /^\s*FORGED/m);
  }
  t.end();
});

t.test('CLI-2 · what draws one line draws one, whatever its text holds', (t) => {
  const { context, seen } = stageCommand({});
  const { out } = context;
  for (const drawn of [
    line(out, [[hostile], [hostile, 'dim']]),
    whole(out, hostile).join('|'),
    titled(out, hostile, hostile).trimEnd(),
    table(out, ['A'], [[hostile]]).split('\n')[1] ?? '',
  ]) {
    t.notMatch(drawn, /\n/);
    t.notMatch(drawn, moves);
  }
  t.notMatch(labelled(out, [['X', hostile]]), /^FORGED/m);
  t.notMatch(plain(hostile), moves);
  t.equal(plain('👩‍🚀 میخ‌ها\n\ttab'), '👩‍🚀 میخ‌ها\n\ttab', 'joiners are writing');
  printJson(context, { [hostile]: [hostile] });
  t.notMatch(seen.printed, moves);
  t.same(JSON.parse(seen.printed), { [hostile]: [hostile] }, 'the same value');
  t.end();
});
