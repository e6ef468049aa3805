import t, { type Test } from 'tap';
import { echoRunner } from '../../../actors/agent/run-echo.ts';
import {
  createAnswerAtOnce,
  createRunAgent,
  type RunAgent,
  type RunAgentPorts,
  type RunnerOfProfile,
} from '../../../actors/dispatch/run-agent.ts';
import type { AgentRunner, AgentRunRequest } from '../../../actors/ports.ts';
import { maxBatchBytes } from '../../../machines/webhook/coalesce.ts';
import type { EventRecord, RunRecord } from '../../../machines/webhook/record.ts';
import { type LentTime, lentTime } from '../../support/lent-time.ts';
import { deferred, turn } from '../../support/turns.ts';

const never = new AbortController().signal;
const event = {
  deliveryId: 'd',
  event: 'e',
  prompt: 'do',
  skills: ['none', 'review', 'later'],
} as unknown as EventRecord;
const record = { eventKey: 'e1', profile: 'work', route: 'r', attempt: 2 } as unknown as RunRecord;

function stage(
  t: Test,
  more: Partial<RunnerOfProfile> = {},
  given: Partial<EventRecord> = {},
  ports: Partial<RunAgentPorts> = {},
) {
  // The time limit of a run does not keep a process alive by itself.
  const alive = setInterval(() => {}, 1_000);
  t.teardown(() => clearInterval(alive));
  const requests: AgentRunRequest[] = [];
  const asked: string[] = [];
  const warned: string[] = [];
  const runAgent = createRunAgent({
    event: async (key) => (key === 'e1' ? { ...event, ...given } : undefined),
    runnerOf: (profile) => {
      asked.push(profile);
      if (profile === ('gone' as typeof profile)) return undefined;
      return {
        run: async (request) => {
          requests.push(request);
          return { kind: 'responded', response: 'said' };
        },
        timeoutMs: 60_000,
        servers: [],
        skill: (name) => ({ review: 'Be kind.', later: 'Be quick.' })[name],
        ...more,
      };
    },
    handOver: async () => true,
    whileAsked: () => () => {},
    traceparentOf: () => undefined,
    log: { log: () => {}, warnOnce: (key, message) => void warned.push(`${key}: ${message}`) },
    ...ports,
  });
  return { runAgent, requests, asked, warned };
}

const untilAborted: RunnerOfProfile['run'] = (_, signal) =>
  new Promise((resolve) => {
    const stop = () => resolve({ kind: 'failed', reason: 'stopped' });
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop);
  });

t.test('TRU-5 · the limit of a run stands still while a person is asked, and what it asks ends with it', async (t) => {
  const time = lentTime(t);
  let hasEnded = false;
  let begin: (changed: (waits: boolean) => void) => void = () => {};
  const begun = new Promise<(waits: boolean) => void>((resolve) => {
    begin = resolve;
  });
  const whileAsked = (_: string, changed: (waits: boolean) => void) => {
    begin(changed);
    return () => {
      hasEnded = true;
    };
  };
  const { runAgent } = stage(t, { run: untilAborted, timeoutMs: 60_000 }, {}, { whileAsked });
  const running = runAgent('k', record, never);
  const changed = await begun;
  time.pass(40_000);
  changed(true);
  time.pass(600_000);
  changed(false);
  time.pass(19_000);
  t.notOk(hasEnded);
  time.pass(1_000);
  t.match(await running, { kind: 'failed', reason: /took longer than 60 s/ });
  t.ok(hasEnded);
});

t.test('DIS-3 · DUR-1 · the limit of a run stands still while the journal cannot record its beginning', async (t) => {
  const time = lentTime(t);
  const written = deferred<boolean>();
  const run: RunnerOfProfile['run'] = async (request, signal) => {
    await request.handOver?.();
    return untilAborted(request, signal);
  };
  const { runAgent } = stage(t, { run, timeoutMs: 60_000 }, {}, { handOver: () => written.promise });
  const running = runAgent('k', record, never);
  await turn();
  time.pass(600_000);
  written.resolve(true);
  await turn();
  await hasAMinute(t, time, running);
});

t.test('DIS-3 · COA-2 · the time of a run begins once the events of its batch have been read', async (t) => {
  const time = lentTime(t);
  const earlier = deferred<EventRecord>();
  const begun = deferred<undefined>();
  const run: RunnerOfProfile['run'] = (request, signal) => {
    begun.resolve(undefined);
    return untilAborted(request, signal);
  };
  const read = async (key: string) => (key === 'e1' ? event : earlier.promise);
  const { runAgent } = stage(t, { run, timeoutMs: 60_000 }, {}, { event: read });
  const running = runAgent('k', { ...record, earlierKeys: ['e0'] }, never);
  await turn();
  time.pass(600_000);
  earlier.resolve(event);
  await begun.promise;
  await hasAMinute(t, time, running);
});

/** From now on. */
async function hasAMinute(t: Test, time: LentTime, running: ReturnType<RunAgent>): Promise<void> {
  let hasEnded = false;
  const ended = running.finally(() => {
    hasEnded = true;
  });
  time.pass(59_000);
  await turn();
  t.notOk(hasEnded);
  time.pass(1_000);
  t.match(await ended, { kind: 'failed', reason: /took longer than 60 s/ });
}

t.test('DIS-3 · DIS-5 · DIS-6 · PRF-2 · a runner is asked with all that it must know, and once', async (t) => {
  const { runAgent, requests, asked } = stage(t);
  t.same(await runAgent('k', record, never), { kind: 'responded', response: 'said' });
  t.same(asked, ['work']);
  t.same(requests, [
    {
      handOver: requests[0]?.handOver,
      runId: 'k',
      deliveryId: 'd',
      route: 'r',
      event: 'e',
      profile: 'work',
      attempt: 2,
      prompt: 'Be kind.\n\ndo',
      toolsets: ['web_search', 'web_extract', 'vision_analyze', 'clarify'],
    },
  ]);
});

t.test('CRN-2 · a runner gets the model that the job names', async (t) => {
  const { runAgent, requests } = stage(t, {}, { model: 'other' });
  await runAgent('k', record, never);
  t.match(requests, [{ model: 'other' }]);
});

t.test(
  'COA-1 · COA-2 · a batch has the prompts of its events in order, as many as fit, the newest always',
  async (t) => {
    const promptOf = async (
      prompts: Readonly<Record<string, string>>,
      earlierKeys: readonly string[],
      superseded = 0,
    ) => {
      const read = async (key: string) =>
        prompts[key] === undefined ? undefined : { ...event, skills: [], prompt: prompts[key] };
      const { runAgent, requests } = stage(t, {}, {}, { event: read });
      await runAgent('k', { ...record, earlierKeys, superseded }, never);
      return requests[0]?.prompt;
    };
    const texts = { a: 'one', b: 'two', e1: 'three' };
    t.equal(await promptOf(texts, []), 'three');
    t.equal(await promptOf(texts, ['a', 'b']), '[Event 1 of 3]\none\n\n[Event 2 of 3]\ntwo\n\n[Event 3 of 3]\nthree');
    t.match(await promptOf(texts, ['a', 'b'], 4), /^\[Event 5 of 7\]\none[\s\S]*4 earlier events were left out\.\]$/);
    t.equal(maxBatchBytes, 262_144);
    const big = { ...texts, b: 'é'.repeat(maxBatchBytes / 2) };
    t.match(await promptOf(big, ['a', 'b']), /^\[Event 3 of 3\]\nthree\n\n\[Note: 2 earlier events were left out\.\]$/);
    t.equal(await promptOf({ e1: big.b + big.b }, []), big.b + big.b);
    t.match(await promptOf({ e1: 'three' }, ['gone']), /1 earlier event was left out/);
  },
);

t.test('COA-1 · DIS-2 · the response of a direct batch is its text, and no agent is asked', async (t) => {
  const texts: Readonly<Record<string, string>> = { a: 'one', b: 'two', e1: 'three' };
  const { runAgent, requests, asked } = stage(
    t,
    {},
    {},
    { event: async (key) => ({ ...event, prompt: texts[key] ?? '' }) },
  );
  const respond = (more: Partial<RunRecord>) => runAgent('k', { ...record, isDirect: true, ...more }, never);
  t.same(await respond({ superseded: 2 }), { kind: 'responded', response: 'three' });
  t.same(await respond({ earlierKeys: ['a', 'b'] }), { kind: 'responded', response: 'one\n\ntwo\n\nthree' });
  t.same(await respond({ earlierKeys: ['b'], superseded: 1 }), {
    kind: 'responded',
    response: 'two\n\nthree\n\n(1 earlier event left out)',
  });
  t.same([requests, asked], [[], []]);
});

t.test('COA-2 · DIS-6 · the note ends the prompt, the first skill that is found leads it, or none does', async (t) => {
  for (const [skills, superseded, prompt] of [
    [['review'], 2, 'Be kind.\n\ndo\n\n[Note: 2 earlier events were superseded by this one.]'],
    [['none'], 1, 'do\n\n[Note: 1 earlier event was superseded by this one.]'],
    [[], 0, 'do'],
  ] as const) {
    const { runAgent, requests } = stage(t, {}, { skills });
    await runAgent('k', { ...record, superseded }, never);
    t.equal(requests[0]?.prompt, prompt);
  }
});

t.test('DIS-5 · PRF-2 · a route’s toolsets replace the default, and a dropped name is warned of', async (t) => {
  const { runAgent, requests, warned } = stage(t, {}, { toolsets: ['web_search', 'terminal', 'nope'] });
  await runAgent('k', record, never);
  t.same(requests[0]?.toolsets, ['web_search']);
  t.match(warned, [
    /^toolset\/work\/r\/terminal: route "r": toolset "terminal" dropped: /,
    /^toolset\/work\/r\/nope: .*"nope" dropped/,
  ]);
  t.equal(warned.length, 2);
});

t.test('DIS-4 · an empty response is a response', async (t) => {
  const { runAgent } = stage(t, { run: async () => ({ kind: 'responded', response: '' }) });
  t.same(await runAgent('k', record, never), { kind: 'responded', response: '' });
});

t.test('DIS-3 · a run is bounded in time, and stopped when its run is', async (t) => {
  const slow = stage(t, { run: untilAborted, timeoutMs: 20 });
  t.same(await slow.runAgent('k', record, never), {
    kind: 'failed',
    reason: 'the run took longer than 0.02 s (agent.timeout_seconds)',
  });
  const chatty: AgentRunner = async (...given) => ({ ...(await untilAborted(...given)), printed: ': step 3 of 9' });
  t.same(await stage(t, { run: chatty, timeoutMs: 20 }).runAgent('k', record, never), {
    kind: 'failed',
    reason: 'the run took longer than 0.02 s (agent.timeout_seconds): step 3 of 9',
  });
  const stopped = stage(t, { run: untilAborted });
  t.same(await stopped.runAgent('k', record, AbortSignal.abort()), { kind: 'failed', reason: 'stopped' });
});

t.test('LIM-5 · runs of a route that cannot begin are logged once per outage', async (t) => {
  const lines: string[] = [];
  const log = { log: (_: string, message: string) => void lines.push(message), warnOnce: () => t.fail('for ever') };
  let next: 'EMFILE' | 'begins' | 'is refused' = 'EMFILE';
  const answer = deferred<void>();
  const run: RunnerOfProfile['run'] = async (request) => {
    if (next === 'EMFILE') return { kind: 'notBegun', reason: next };
    await request.handOver?.();
    await answer.promise;
    return { kind: 'responded', response: 'said' };
  };
  const { runAgent } = stage(t, { run }, {}, { log, handOver: async () => next === 'begins' });
  const begin = (route = 'r') => runAgent('k', { ...record, route }, never);

  await begin();
  await begin();
  t.match(lines.splice(0), [/^route "r": its runs cannot be started; they wait and are tried again: EMFILE$/]);
  next = 'is refused';
  void begin();
  await turn();
  next = 'EMFILE';
  await begin();
  t.same(lines, [], 'a run that another gateway holds has not begun');
  await begin('other');
  t.match(lines.splice(0), [/^route "other"/]);

  next = 'begins';
  const running = begin();
  await turn();
  next = 'EMFILE';
  await begin();
  t.match(lines.splice(0), [/^route "r"/], 'the next outage, while the run that began goes on');
  await begin('other');
  t.same(lines, [], 'the other route is still in its first');
  answer.resolve();
  t.match(await running, { kind: 'responded' });
});

t.test('DUR-1 · where the hand-over must not be, the agent is stopped before it', async (t) => {
  const run: RunnerOfProfile['run'] = async (request, signal) => {
    await request.handOver?.();
    return signal.aborted ? { kind: 'failed', reason: 'stopped' } : { kind: 'responded', response: 'said' };
  };
  for (const may of [true, false]) {
    const { runAgent } = stage(t, { run }, {}, { handOver: async () => may });
    t.match(await runAgent('k', record, never), may ? { kind: 'responded' } : { kind: 'failed', reason: 'stopped' });
  }
});

t.test('DIS-3 · DUR-1 · PRF-2 · what cannot be run fails by name, and never rejects', async (t) => {
  const { runAgent, requests } = stage(t);
  for (const [given, reason] of [
    [{ ...record, eventKey: 'forgotten' }, /event forgotten is not in the journal/],
    [{ ...record, profile: 'gone' }, /profile "gone" is not configured any more/],
  ] as const) {
    t.match(await runAgent('k', given, never), { kind: 'failed', reason });
  }
  t.same(requests, []);
  const broken = stage(t, { run: () => Promise.reject(new Error('broke')) });
  t.same(await broken.runAgent('k', record, never), { kind: 'failed', reason: 'broke' });
});

t.test('DIS-3 · DIS-6 · COA-2 · a response that follows from the prompt alone needs no agent', (t) => {
  const warned: string[] = [];
  const answer = (run: RunnerOfProfile['run'], more: Partial<RunRecord> = {}, given: Partial<EventRecord> = {}) =>
    createAnswerAtOnce({
      event: (key) => (key === 'e1' ? { ...event, ...given } : undefined),
      runnerOf: () => ({
        run,
        timeoutMs: 1,
        servers: [],
        skill: (name) => ({ review: 'Be kind.' })[name],
      }),
      log: { log: () => {}, warnOnce: (key) => void warned.push(key) },
    })({ ...record, ...more })?.response;
  const asked: RunnerOfProfile['run'] = () => Promise.reject(new Error('asked'));

  t.equal(answer(echoRunner), 'Be kind.\n\ndo');
  t.match(answer(echoRunner, { superseded: 2 }), /^Be kind\.\n\ndo\n.*2 earlier/s);
  answer(echoRunner, {}, { toolsets: ['nothing-of-that-name'] });
  t.same(warned, ['toolset/work/r/nothing-of-that-name']);
  t.equal(answer(asked, { isDirect: true }), 'do', 'no agent is asked for a text that is delivered as it is');
  t.equal(answer(asked), undefined, 'a program or a model is asked, once its attempt is on disk');
  t.equal(answer(echoRunner, { earlierKeys: ['e0'] }), undefined, 'the texts of a batch are read in several turns');
  t.equal(answer(echoRunner, { eventKey: 'gone' }), undefined);
  t.end();
});
