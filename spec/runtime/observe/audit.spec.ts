import { statSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { AuditRow } from '../../../runtime/control/contract/gateway.ts';
import { type AuditLog, atTerminal, createAuditLog, readAudit } from '../../../runtime/observe/audit.ts';
import { makeHome } from '../../support/home.ts';
import { lentTime } from '../../support/lent-time.ts';

const minuteMs = 60_000;

interface Stage {
  readonly audit: AuditLog;
  rows(limit?: number, query?: { readonly sinceMs?: number; readonly words?: string }): Promise<readonly AuditRow[]>;
  /** What the rows of changes take on disk. */
  bytes(): number;
}

function stage(t: Test, nowMs = Date.now): Stage {
  const folder = makeHome(t).path;
  const audit = createAuditLog(folder, (text) => text.replaceAll('hunter2hunter2', '[redacted]'), { nowMs });
  t.teardown(() => audit.close());
  return {
    audit,
    async rows(limit = 100, query = {}) {
      await audit.settled();
      return readAudit(folder, { sinceMs: 0, words: '', limit, ...query });
    },
    bytes: () => statSync(join(folder, 'audit.log')).size,
  };
}

t.test(
  'SEC-1 · a row of the audit log is short, however much a command is given, and counts what it leaves out',
  async (t) => {
    const { audit, rows, bytes } = stage(t);
    const long = '\u0007'.repeat(100_000);
    const ids = new Array<string>(5_000).fill(long);
    const texts = ['id', 'name', 'server', 'route', 'job', 'target'].map((name) => [name, long]);

    audit.add(
      atTerminal,
      { method: 'deliveries.drop', params: { ids, ...Object.fromEntries(texts) } },
      new Error(long),
    );
    audit.add(atTerminal, { method: 'deliveries.drop', params: { ids: ids.map((_, at) => `d-${at}`), reason: 'old' } });

    const [named, flooded] = await rows();
    t.ok(bytes() < 8_192, `${bytes()} bytes`);
    const first = Array.from({ length: 20 }, (_, at) => `d-${at}`);
    t.same(named?.on, { ids: [...first, 'and 4980 more'], reason: 'old' });
    t.match(flooded, {
      what: 'dropped deliveries',
      on: { ids: ['and 5000 more'], omitted: ['route', 'job', 'target'] },
    });
  },
);

t.test('OBS-1 · SEC-1 · a reason is cut where the row ends, and no part of a secret stays there', async (t) => {
  const { audit, rows } = stage(t);

  audit.add(atTerminal, { method: 'runs.cancel', params: {} }, new Error(`${'x'.repeat(190)}hunter2hunter2`));

  t.notMatch(JSON.stringify(await rows()), 'hunter2');
});

t.test(
  'SEC-1 · what changes nothing and what has a record of its own have no row, and no row has a text',
  async (t) => {
    const { audit, rows } = stage(t, () => 0);
    const at = '1970-01-01T00:00:00.000Z';
    for (const [method, params] of [
      ['runs.list', {}],
      ['mcp.call', { name: 'x' }],
      ['made.up', {}],
      ['mcp.add', { name: 'x', dry: true }],
      ['webhook.replay', { id: 'e1', dry: true, force: false, payload: 'a text', secret: 's3cret' }],
      ['runs.cancel', { all: true, since: at, limit: 5 }],
    ] as const)
      audit.add(atTerminal, { method, params });

    t.same(await rows(), [
      { at, ...atTerminal, what: 'cancelled a run', method: 'runs.cancel', on: { all: true, since: at } },
      { at, ...atTerminal, what: 'replayed an event', method: 'webhook.replay', on: { id: 'e1', dry: true } },
    ]);
  },
);

t.test('SEC-1 · what a read-only user is refused has a row an hour for each method', async (t) => {
  let nowMs = 1_700_000_000_000;
  const { audit, rows } = stage(t, () => nowMs);
  const refuse = (method: string): void =>
    audit.addReader({ who: 'maya', from: 'page' }, method, new Error('maya may only read'));

  for (const method of ['runs.cancel', 'runs.cancel', 'cron.run', 'made.up']) refuse(method);
  nowMs += 3_599_999;
  refuse('runs.cancel');
  const row = { who: 'maya', from: 'page', on: {}, refused: 'maya may only read' };
  t.match(await rows(), [
    { ...row, method: 'cron.run' },
    { ...row, method: 'runs.cancel' },
  ]);
  nowMs += 1;
  refuse('runs.cancel');
  t.equal((await rows()).length, 3);

  t.same(
    (await rows(100, { words: 'cron' })).map(({ method }) => method),
    ['cron.run'],
    'a search finds a row',
  );
  t.same([(await rows(100, { sinceMs: nowMs })).length, (await rows(100, { sinceMs: nowMs + 1 })).length], [1, 0]);

  nowMs -= 24 * 3_600_000;
  refuse('runs.cancel');
  t.equal((await rows()).length, 4, 'also after the clock was set back');
  t.equal((await rows(100, { sinceMs: nowMs + 1 })).length, 3, 'the rows before are not left out');
});

t.test('SEC-1 · refused sign-ins of one sender are one row a minute, with their number', async (t) => {
  const time = lentTime(t);
  const { audit, rows } = stage(t);
  const refuse = (sender: string, who?: string): void =>
    audit.addSession({ what: 'signed in', who, sender, refused: 'the name or the password is wrong' });

  for (let count = 0; count < 57; count += 1) refuse('203.0.113.7');
  refuse('203.0.113.7', 'maya');
  refuse('203.0.113.8');
  t.match(
    (await rows()).map(({ who, on, refused }) => ({ who, on, refused })),
    [
      { who: 'unknown user', on: { sender: '203.0.113.8' }, refused: 'the name or the password is wrong' },
      { who: 'maya', on: { sender: '203.0.113.7' } },
      { who: 'unknown user', on: { sender: '203.0.113.7' } },
    ],
  );
  time.pass(minuteMs);
  const all = await rows();
  const summed = all.filter(({ on }) => on.times !== undefined);
  t.match(summed, [
    {
      who: 'unknown user',
      from: 'page',
      what: 'signed in',
      method: 'page.signIn',
      on: { sender: '203.0.113.7', times: 56 },
    },
  ]);
  t.equal(all.length, 4, 'what happened once is one row');

  refuse('203.0.113.7');
  t.equal((await rows()).length, 5, 'a minute later it is news again');
});

t.test('SEC-1 · no number of refused sign-ins, of whatever senders, pushes out a change or a sign-in', async (t) => {
  const time = lentTime(t);
  const { audit, rows, bytes } = stage(t);
  audit.addSession({ what: 'signed in', who: 'maya', sender: '203.0.113.7' });
  audit.add(atTerminal, { method: 'webhook.disable', params: { name: 'ci' } });
  await rows();
  const before = bytes();

  for (let minute = 0; minute < 8; minute += 1) {
    for (let count = 0; count < 1_500; count += 1) {
      audit.addSession({ what: 'signed in', sender: `${minute} ${count} ${'x'.repeat(1_000)}`, refused: 'wrong' });
    }
    time.pass(minuteMs);
    await audit.settled();
  }

  t.equal(bytes(), before);
  const listed = await rows();
  t.equal(listed.length, 100);
  t.match(listed.slice(-2), [{ what: 'disabled a route' }, { who: 'maya', what: 'signed in' }]);
});

t.test('SEC-1 · each sign-in and sign-out is written at once, with its own time', async (t) => {
  const time = lentTime(t);
  const { audit, rows } = stage(t);
  const begunMs = Date.now();
  for (let count = 0; count < 3; count += 1) {
    audit.addSession({ what: 'signed in', who: 'noor', sender: '203.0.113.7' });
    time.pass(1_000);
  }
  audit.addSession({ what: 'signed out', who: 'noor' });
  const listed = await rows();
  t.match(
    listed.map(({ what, on }) => [what, on]),
    [
      ['signed out', {}],
      ['signed in', { sender: '203.0.113.7' }],
      ['signed in', { sender: '203.0.113.7' }],
      ['signed in', { sender: '203.0.113.7' }],
    ],
  );
  t.same(
    listed.map(({ at }) => Math.round((Date.parse(at) - begunMs) / 1_000)),
    [3, 2, 1, 0],
  );
});

t.test('SEC-1 · a count of refused sign-ins has the time of the last one, also as the daemon ends', async (t) => {
  const time = lentTime(t);
  const { audit, rows } = stage(t);
  const begunMs = Date.now();
  for (let count = 0; count < 3; count += 1) {
    audit.addSession({ what: 'signed in', sender: '203.0.113.7', refused: 'wrong' });
    time.pass(1_000);
  }
  time.pass(5_000);
  await audit.close();
  const [counted] = await rows();
  t.match(counted, { on: { times: 2 } });
  t.equal(Math.round((Date.parse(counted?.at ?? '') - begunMs) / 1_000), 2);
});
