/** A call that a person must allow, through the real doors: asked, shown, answered, run out, withdrawn. */

import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { valueAt } from '../../machines/config/edit.ts';
import { main } from '../support/daemon.ts';
import {
  cached,
  commandOf,
  controlOf,
  entryOf,
  eventually,
  folder,
  type Gateway,
  startGateway,
  streamsOpen,
  wordsOf,
} from '../support/mcp/gateway.ts';
import { started } from '../support/mcp/http-peer.ts';
import { stdioPeer } from '../support/mcp/stdio-peer.ts';
import { numbersIn } from '../support/processes.ts';

/** A command that goes on until it is ended, and the lines that it has printed. */
function watching(t: Test, gateway: Gateway, ...words: readonly string[]): { child: ChildProcess; lines: string[] } {
  const child = spawn(process.execPath, [main, ...words], {
    env: { ...process.env, NO_COLOR: '1', AGENT_HOME: gateway.home.path },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  t.teardown(() => child.kill('SIGKILL'));
  const lines: string[] = [];
  let rest = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    const parts = (rest + chunk).split('\n');
    rest = parts.pop() ?? '';
    lines.push(...parts);
  });
  return { child, lines };
}

t.test('on a server that is not trusted', async (t) => {
  const peer = await started(t);
  const gateway = await startGateway(t, {
    peer: entryOf(peer, { trust: 'untrusted' }),
    other: entryOf(peer, { trust: 'sometimes' }),
    trusted: entryOf(peer, { trust: 'full' }),
  });
  for (const server of ['peer', 'other', 'trusted']) await gateway.reaches(server, 'connected');
  await streamsOpen(peer, 3);

  t.test('TRU-1 · a read-only tool and a trusted server need no approval', async (t) => {
    t.equal(wordsOf(await gateway.call('mcp__peer__echo', { text: 'free' })), 'free');
    t.match(wordsOf(await gateway.call('mcp__trusted__write_note', { text: 'free' })), /^note/);
    t.same(await gateway.approvals(), []);
  });

  for (const server of ['peer', 'other']) {
    t.test(`TRU-1 · TRU-3 · on ${server} nothing is sent before a yes, and the call then runs once`, async (t) => {
      const before = peer.requests.length;
      const notes = peer.executions('write_note');
      const call = gateway.call(`mcp__${server}__write_note`, { text: 'dear diary' });
      const { id } = await gateway.asked();
      t.equal(peer.requests.length, before, 'nothing was sent');

      t.match(await gateway.answer(id, true), { answered: id });

      t.match(wordsOf(await call), /^note/);
      t.equal(peer.executions('write_note'), notes + 1);
      t.same(await gateway.approvals(), []);
    });
  }

  t.test('TRU-3 · a caller that goes away withdraws the question', async (t) => {
    const control = await controlOf(t, gateway.home);
    const call = control.call('mcp.call', { name: 'mcp__peer__write_note', arguments: { text: 'x' } });
    const refused = t.rejects(call);
    const { id } = await gateway.asked();
    const before = peer.requests.length;

    control.close();

    await refused;
    await eventually(async () => ((await gateway.approvals()).length === 0 ? true : undefined));
    await t.rejects(gateway.answer(id, true), { code: 'approval-unknown' });
    t.equal(peer.requests.length, before);
  });

  t.test('TRU-3 · CLI-2 · the command line lists, shows, approves and denies', async (t) => {
    t.match(await gateway.cli('approvals', 'list'), { code: 0, stdout: 'Nothing waits for an approval.\n' });
    t.same(JSON.parse((await gateway.cli('approvals', '--json')).stdout), []);
    const call = gateway.call('mcp__peer__write_note', { text: 'api_key=abcdef0123456789' });
    const { id } = await gateway.asked();

    const listed = await gateway.cli('approvals', 'list', '--json');
    const shown = await gateway.cli('approvals', 'show', id, '--json');
    const inWords = await gateway.cli('approvals', 'show', id);
    const approved = await gateway.cli('approvals', 'approve', id);

    t.equal(listed.code, 0);
    t.match(JSON.parse(listed.stdout), [{ id, kind: 'tool', server: 'peer', tool: 'mcp__peer__write_note' }]);
    t.match(JSON.parse(shown.stdout), { id, detail: { text: 'api_key=[redacted]' }, message: /Writes a note/ });
    t.match(inWords.stdout, /mcp__peer__write_note[\s\S]*Writes a note[\s\S]*expires in \d+s/);
    t.notMatch(listed.stdout + shown.stdout + inWords.stdout, /abcdef0123456789/);
    t.match(approved, { code: 0, stdout: `Approved ${id}.\n` });
    t.match(wordsOf(await call), /^note/);
    t.equal(peer.work.calls.at(-1)?.args.text, 'api_key=abcdef0123456789', 'the call itself is not changed');

    const again = await gateway.cli('approvals', 'approve', id);
    t.equal(again.code, 1);
    t.match(again.stderr, new RegExp(`no approval "${id}" waits`));
    t.equal((await gateway.cli('approvals', 'show', 'a999')).code, 1);
    t.equal((await gateway.cli('approvals', 'approve')).code, 2);

    const next = gateway.call('mcp__peer__write_note', { text: 'no' });
    const { id: denied } = await gateway.asked();
    t.match(await gateway.cli('approvals', 'deny', denied), { code: 0, stdout: `Denied ${denied}.\n` });
    t.equal((await next).error?.code, 'approval_denied');
  });

  t.test(
    'TRU-3 · the note of a denial reaches the caller, and the answers are listed with who gave them',
    async (t) => {
      const call = gateway.call('mcp__peer__write_note', { text: 'x' });
      const { id } = await gateway.asked();

      await gateway.cli('approvals', 'deny', id, '--note', 'wait for the release branch');

      t.match((await call).error, {
        code: 'approval_denied',
        message: 'mcp__peer__write_note was not run: it was denied: wait for the release branch',
      });
      const answered = await gateway.control.call('approvals.answered');
      t.match(answered, [
        { id, verdict: 'denied', by: 'cli', note: /release/ },
        { verdict: 'denied' },
        { verdict: 'approved' },
      ]);
      t.match(
        (await gateway.cli('approvals', 'answered')).stdout,
        /denied +cli +peer +mcp__peer__write_note +wait for the/,
      );
    },
  );

  t.test('TRU-3 · HOME-4 · what is always allowed is a rule of config.yaml, and the connection stays', async (t) => {
    const before = await gateway.server('peer');
    const ask = async (text: string) => {
      const call = gateway.call('mcp__peer__write_note', { text });
      return { ...(await gateway.asked()), call };
    };
    const { call, id } = await ask('standup');
    const refused = [
      [['--for-run'], /no run asked this/],
      [['--always', '--where', 'text=other'], /"text" of this call is another/],
      [['--always', '--where', 'author=me'], /no text, number or word "author"/],
    ] as const;
    for (const [flags, why] of refused) {
      t.match(await gateway.cli('approvals', 'approve', id, ...flags), { code: 1, stderr: why }, flags.join(' '));
    }
    t.match(await gateway.cli('approvals', 'approve', id, '--where', 'text=standup'), { code: 2, stderr: /--always/ });
    t.equal((await gateway.approvals()).length, 1, 'the question still waits');
    const alike = gateway.call('mcp__peer__write_note', { text: 'standup' });
    await eventually(async () => (await gateway.approvals()).length === 2);

    const approved = await gateway.cli('approvals', 'approve', id, '--always', '--where', 'text=standup');

    t.match(approved, { code: 0, stdout: `Approved ${id}; the rule is in the entry of its server.\n` });
    t.match(wordsOf(await call), /^note/);
    const text = readFileSync(join(gateway.home.path, 'config.yaml'), 'utf8');
    t.same(valueAt(text, ['mcp_servers', 'peer', 'approvals']), [
      { tool: 'write_note', arguments: { text: 'standup' } },
    ]);
    t.match(wordsOf(await gateway.call('mcp__peer__write_note', { text: 'standup' })), /^note/, 'asked no more');
    t.match(wordsOf(await alike), /^note/, 'what waited is allowed too');
    const other = await ask('another');
    await gateway.answer(other.id, false);
    t.equal((await other.call).error?.code, 'approval_denied');
    t.same((await gateway.server('peer'))?.since, before?.since, 'the server was not connected again');
    t.match(await gateway.control.call('approvals.answered'), [
      { verdict: 'denied' },
      { verdict: 'approved', remember: 'call', by: 'a rule' },
      { remember: 'always', by: 'cli' },
    ]);
  });

  t.test('CLI-2 · TRU-1 · `agent mcp call` waits for the answer and exits with 1 where it is no', async (t) => {
    const run = gateway.cli('mcp', 'call', 'mcp__peer__write_note', '{"text":"x"}', '--json');
    const { id } = await gateway.asked();

    await gateway.answer(id, false);

    const { code, stdout } = await run;
    t.equal(code, 1);
    t.match(JSON.parse(stdout), { error: { code: 'approval_denied' } });
  });

  t.test('TRU-3 · --watch shows what waits and each question as it is asked, until it is ended', async (t) => {
    const first = gateway.call('mcp__peer__write_note', { text: 'first' });
    const waiting = await gateway.asked();
    const { child, lines } = watching(t, gateway, 'approvals', '--watch', '--json');
    const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
    await eventually(() => (lines.length === 1 ? true : undefined));
    const second = gateway.call('mcp__other__write_note', { text: 'second' });
    await eventually(() => (lines.length === 2 ? true : undefined));

    const rows = lines.map((line) => JSON.parse(line) as { id: string; server: string });
    t.match(rows, [
      { id: waiting.id, server: 'peer' },
      { server: 'other', kind: 'tool', tool: 'mcp__other__write_note' },
    ]);
    for (const { id } of rows) await gateway.answer(id, true);
    t.match(wordsOf(await first), /^note/);
    t.match(wordsOf(await second), /^note/);

    child.kill('SIGINT');
    t.equal(await exited, 130);
  });
});

t.test('TRU-1 · LIF-6 · a lazy server is not started before the yes', async (t) => {
  const pidFile = join(folder(t), 'pids');
  const servers = { lazy: commandOf(stdioPeer('legacy', { pidFile }), { lazy: true, trust: 'untrusted' }) };
  const first = await startGateway(t, servers);
  await first.reaches('lazy', 'connected');
  await cached(first, 'lazy');
  t.equal(await first.daemon.kill('SIGTERM'), 0);
  const gateway = await startGateway(t, servers, { home: first.home });
  t.match(await gateway.server('lazy'), { state: 'lazy' });

  const denied = gateway.call('mcp__lazy__write_note', { text: 'no' });
  await gateway.answer((await gateway.asked()).id, false);
  t.equal((await denied).error?.code, 'approval_denied');
  t.equal(numbersIn(pidFile).length, 1, 'not for a no');

  const call = gateway.call('mcp__lazy__write_note', { text: 'yes' });
  const { id } = await gateway.asked();
  t.match(await gateway.server('lazy'), { state: 'lazy' });
  t.equal(numbersIn(pidFile).length, 1, 'not while it is asked');
  await gateway.answer(id, true);

  t.equal(wordsOf(await call), 'note 1');
  t.equal(numbersIn(pidFile).length, 2);
});

t.test('TRU-1 · CON-2 · a daemon that stops while a question waits sends nothing', async (t) => {
  const peer = await started(t);
  const gateway = await startGateway(t, { peer: entryOf(peer, { trust: 'untrusted' }) });
  await gateway.reaches('peer', 'connected');
  const call = gateway.call('mcp__peer__write_note', { text: 'x' });
  const reading = gateway.call('mcp__peer__slow');
  await gateway.asked();
  await eventually(() => (peer.work.slow.length === 1 ? true : undefined));

  gateway.daemon.kill('SIGTERM');

  t.same((await call).error, { code: 'cancelled', message: 'the gateway stops' });
  t.ok((await reading).error, 'a call under way is told too');
  t.equal(await gateway.daemon.exited, 0);
  t.equal(peer.executions('write_note'), 0);
  t.equal(peer.executions('slow'), 1);
  t.notOk(gateway.daemon.log.some(({ message }) => /uncaught/.test(message)));
});
