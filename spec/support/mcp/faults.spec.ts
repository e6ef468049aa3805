/** The faults in front of a peer hit what they are told to hit, and the server behind them has executed what they say. */

import t from 'tap';
import { lentTime } from '../lent-time.ts';
import { until } from '../processes.ts';
import { type Fault, faults, redirectTo } from './faults.ts';
import { caught, connected, echoHi, started, textOf } from './plain-client.ts';

t.test('sessions expire with the status asked for', async (t) => {
  const peer = await started(t);
  for (const status of [404, 400] as const) {
    const client = await connected(t, peer);
    await peer.expireSessions(status);
    t.match(await caught(client.callTool(echoHi)), { status, data: { text: /session/i } });
  }
  t.equal(peer.executions('echo'), 0);
});

const answered = [
  { name: 'unauthorized', fault: faults.unauthorized, error: { status: 401 } },
  { name: 'forbidden', fault: faults.forbidden, error: { status: 403 } },
  { name: 'notFound', fault: faults.notFound, error: { status: 404 } },
  { name: 'tooMany', fault: faults.tooMany, error: { status: 429 } },
  { name: 'serverError', fault: faults.serverError, error: { status: 500 } },
  { name: 'html', fault: faults.html, error: { code: 'CLIENT_HTTP_UNEXPECTED_CONTENT' } },
  { name: 'sessionGone404', fault: faults.sessionGone404, error: { status: 404 } },
  { name: 'sessionGone400', fault: faults.sessionGone400, error: { status: 400 } },
] as const;
for (const kind of ['http', 'modern'] as const) {
  t.test(`a ${kind} peer answers as told, and only where and as often as told`, async (t) => {
    const peer = await started(t, { kind });
    const client = await connected(t, peer);
    for (const { name, fault, error } of answered) {
      peer.set({ ...fault, on: 'tools/call', times: 1 });
      await client.listTools();
      t.match(await caught(client.callTool(echoHi)), error, name);
      t.equal(await textOf(client, 'echo', { text: 'hi' }), 'hi');
    }
    t.equal(peer.executions('echo'), answered.length);
    t.equal(peer.requests.filter(({ fault }) => fault === 'answer').length, answered.length);
  });

  t.test(`a ${kind} peer resets, hangs and ends its streams where told`, async (t) => {
    const peer = await started(t, { kind });
    const client = await connected(t, peer);
    const time = lentTime(t);
    const failing = async (executed: number, behaviour: Fault) => {
      const before = peer.executions('write_note');
      const asked = peer.seen('tools/call').length;
      peer.set({ ...behaviour, on: 'tools/call' });
      const failed = t.rejects(client.callTool({ name: 'write_note', arguments: { text: '' } }), behaviour.kind);
      // An answer that broke off is waited for: the stream might be taken up again.
      if (behaviour.kind !== 'reset' || behaviour.at === 'mid-body') {
        await until(
          () => peer.seen('tools/call').length > asked && peer.executions('write_note') === before + executed,
        );
        time.pass(60_000);
      }
      await failed;
      peer.set();
      t.equal(peer.executions('write_note') - before, executed, `${JSON.stringify(behaviour)}: ${executed} executions`);
    };

    await failing(0, { kind: 'reset', at: 'before-head' });
    await failing(1, { kind: 'reset', at: 'after-request' });
    await failing(1, { kind: 'reset', at: 'mid-body' });
    await failing(0, { kind: 'hang', at: 'before-head' });
    await failing(1, { kind: 'hang', at: 'after-head' });
    await failing(1, { kind: 'end-stream' });
    time.giveBack();
    peer.set({ kind: 'delay', ms: 50 });
    t.equal(await textOf(client, 'echo', { text: 'well again' }), 'well again');
  });
}

t.test('a peer sends its client to another origin', async (t) => {
  const target = await started(t);
  const peer = await started(t);
  peer.set(redirectTo(target.url));

  await t.rejects(connected(t, peer), /redirect/i);

  t.equal(target.requests.length, 0);
});

t.test('an SSE peer drops its streams', async (t) => {
  const peer = await started(t, { kind: 'sse' });
  const client = await connected(t, peer);
  const lost = new Promise<Error>((resolve) => {
    client.onerror = resolve;
  });

  peer.dropStreams();

  t.ok((await lost) instanceof Error);
  await until(() => peer.seen('GET')[0]?.outcome === 'cut');
  t.equal(peer.sessions, 0);
});

t.test('an SSE peer spoils what is posted to it, or the opening of its stream', async (t) => {
  const peer = await started(t, { kind: 'sse' });
  const client = await connected(t, peer);
  const note = { name: 'write_note', arguments: { text: '' } };

  peer.set({ ...faults.serverError, on: 'tools/call' });
  t.match(await caught(client.callTool(note)), /500/);
  peer.set({ kind: 'reset', at: 'before-head', on: 'tools/call' });
  await t.rejects(client.callTool(note));
  t.equal(peer.executions('write_note'), 0);
  peer.set({ kind: 'reset', at: 'after-request', on: 'tools/call' });
  await t.rejects(client.callTool(note));
  t.equal(peer.executions('write_note'), 1);
  peer.set({ ...faults.html, on: 'GET' });
  await t.rejects(connected(t, peer));
});

t.test('a condition chooses among requests', async (t) => {
  const peer = await started(t);
  peer.set({ ...faults.unauthorized, when: ({ headers }) => headers.authorization !== 'Bearer good' });

  t.match(await caught(connected(t, peer)), { status: 401 });
  const answer = await fetch(peer.url, { method: 'DELETE', headers: { authorization: 'Bearer good' } });

  t.equal(answer.status, 400);
  t.same(
    peer.requests.map(({ fault }) => fault),
    ['answer', undefined],
  );
});
