import t from 'tap';
import { streamModel } from '../../actors/agent/stream-model.ts';
import { httpRequest } from '../../actors/dispatch/targets/http-request.ts';
import { createStopSignal } from '../../actors/stop-signal.ts';
import { sourceFiles } from '../house/sources.ts';
import { collectGarbage } from '../support/collect-garbage.ts';
import { listenHttp } from '../support/http-listener.ts';
import { lentTime } from '../support/lent-time.ts';
import { startModelServer } from '../support/model-server.ts';
import { until } from '../support/processes.ts';

const aborted = (signal: AbortSignal): Promise<unknown> =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve(signal.reason)));
/** A spec's own process stays, however little there is to wait for. */
const alive = setInterval(() => {}, 1_000);
t.teardown(() => clearInterval(alive));

t.test(
  'LIF-3 · the first reason to stop is the one that counts, and a signal that was let go says nothing',
  async (t) => {
    const one = new AbortController();
    const other = new AbortController();
    const stop = createStopSignal([one.signal, undefined, null, other.signal], 60_000);
    const nested = createStopSignal([stop.signal]);
    other.abort('enough');
    one.abort('late');
    t.same([stop.signal.reason, nested.signal.reason, stop.isTimeOver()], ['enough', 'enough', false]);

    t.equal(createStopSignal([other.signal]).signal.reason, 'enough', 'one that has spoken before counts');

    const time = lentTime(t);
    const third = new AbortController();
    const released = createStopSignal([third.signal], 1);
    released.release();
    third.abort();
    time.pass(1);
    t.same([released.signal.aborted, released.isTimeOver()], [false, false]);
  },
);

t.test('LIF-3 · a time limit outlives a collection of garbage', async (t) => {
  const time = lentTime(t);
  const { signal, isTimeOver } = createStopSignal([new AbortController().signal], 50);
  const ended = aborted(signal);
  await collectGarbage();
  time.pass(50);
  t.match(await ended, { name: 'TimeoutError' });
  t.equal(isTimeOver(), true);
});

t.test(
  'DIS-3 · a model that falls silent is stopped, by a person or by the time, after garbage was collected',
  async (t) => {
    const server = await startModelServer(t, [{ kind: 'silent', text: 'Half of ' }]);
    const model = { provider: 'openai-compatible', baseUrl: server.url, name: 'm', maxSteps: 3 } as never;
    const question = { system: '', turns: [{ role: 'user', text: 'x' }], tools: [] } as const;
    const ports = {
      nowMs: Date.now,
      random: () => 0,
      wait: () => Promise.resolve(),
    };
    const time = lentTime(t);
    for (const person of [true, false]) {
      const limits = { attempts: 1, idleMs: 400 };
      const cancel = new AbortController();
      let heard = '';
      const onText = (text: string): void => {
        heard += text;
      };
      const asked = streamModel(
        model,
        { ...question, turns: [...question.turns] },
        { ...ports, limits, onText, signal: cancel.signal },
      );
      await until(() => heard !== '');
      await collectGarbage();
      if (person) cancel.abort();
      else time.pass(400);
      t.match(await asked, { kind: 'failed', why: person ? 'the run was stopped' : /silent for 0\.4 s/ });
    }
  },
);

t.test('DLV-4 · a platform that never ends its answer times out also after a garbage collection', async (t) => {
  let begun = 0;
  const { url } = await listenHttp(t, (request, response) => {
    begun += 1;
    if (request.url === '/half') response.writeHead(200).write('{"ok":');
  });
  const time = lentTime(t);
  for (const path of ['/none', '/half']) {
    const before = begun;
    const call = { method: 'POST', url: `${url}${path}`, json: {}, timeoutMs: 400 } as const;
    const answer = httpRequest(call, new AbortController().signal);
    await until(() => begun > before);
    await collectGarbage();
    time.pass(400);
    t.match(await answer, { kind: 'unknown', reason: /no answer within 0\.4 s/ }, path);
  }
});

t.test('LIF-3 · no other way to bound work in time is taken', (t) => {
  const weak = /AbortSignal\.any\(|new Request\([^;]*\bsignal\b/;
  // The page runs in a browser.
  const own = sourceFiles(['actors', 'runtime']).filter(({ path }) => !path.startsWith('runtime/inspector/page/'));
  const found = own.filter(({ code }) => weak.test(code));
  t.same(
    found.map(({ path }) => path),
    [],
    'createStopSignal holds what these hold weakly',
  );
  t.end();
});
