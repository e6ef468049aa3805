import t, { type Test } from 'tap';
import type { ModelVerdict } from '../../../actors/agent/stream-model.ts';
import type { AskingCall } from '../../../actors/mcp/open-calls.ts';
import { type ModelQuestion, noTokens, type StopReason } from '../../../machines/agent/model-talk.ts';
import { compile } from '../../../machines/base/compile.ts';
import type { JsonObject } from '../../../machines/base/json.ts';
import type { ModelSettings } from '../../../machines/config/settings.ts';
import type { ApprovalInput } from '../../../machines/mcp/approval.machine.ts';
import type { ServerRequestInput } from '../../../machines/mcp/server-request.machine.ts';
import {
  type ApprovalQuestion,
  type Approvals,
  createApprovals,
  maxOpenQuestions,
  wireApproval,
} from '../../../runtime/mcp/approvals.ts';
import { wireServerRequest } from '../../../runtime/mcp/server-request-wiring.ts';
import { createServerRequests, type ServerRequests } from '../../../runtime/mcp/server-requests.ts';
import { createRedactor } from '../../../runtime/observe/redact.ts';
import { settingsOf } from '../../support/mcp/open-session.ts';
import { startPool } from '../../support/pools.ts';
import { turn } from '../../support/turns.ts';

const model: ModelSettings = { provider: 'anthropic', baseUrl: 'http://127.0.0.1', name: 'house', maxSteps: 5 };
const said = (text: string, stop: StopReason = 'ended'): ModelVerdict => ({
  kind: 'answered',
  answer: { text, calls: [], stop, tokens: noTokens },
});

interface AskedModel {
  readonly model: ModelSettings;
  readonly question: ModelQuestion;
  readonly signal: AbortSignal;
}

/** One server's requests, wired to real tables and to real questions to a person; the model is the spec's. */
function stage(
  t: Test,
  entry: JsonObject = {},
  { answer = () => Promise.resolve(said('well')) }: { answer?: (asked: AskedModel) => Promise<ModelVerdict> } = {},
) {
  const live = {
    settings: settingsOf({ command: 'x', sampling: { enabled: true }, ...entry }, 's') as
      | ReturnType<typeof settingsOf>
      | undefined,
    model: model as ModelSettings | undefined,
    steadyMs: 0,
  };
  const askedModel: AskedModel[] = [];
  const redactor = createRedactor();
  redactor.learn('hunter2hunter2');
  const log = { log: () => {}, warnOnce: () => {} };
  const approvals: Approvals = createApprovals(
    startPool<ApprovalInput>(t, compile(wireApproval({ approvals: () => approvals, log }))),
    () => 0,
    '',
  );
  const requests: ServerRequests = createServerRequests(
    () => pool(),
    () => live.steadyMs,
  );
  const pool = startPool<ServerRequestInput>(
    t,
    compile(
      wireServerRequest({
        requests,
        approvals,
        askerOf: (call) => (call.startsWith('r') ? { run: call.slice(0, 2) } : { caller: call.slice(0, 1) }),
        waits: () => {},
        settings: () => live.settings,
        model: () => live.model,
        redactor,
        askModel: (model, question, signal) => {
          const asked = { model, question, signal };
          askedModel.push(asked);
          return answer(asked);
        },
        steadyMs: () => live.steadyMs,
      }),
    ),
  );
  const never = new AbortController().signal;
  /** The clocks that stand still, by call. */
  const held: string[] = [];
  const call = (id: string): AskingCall => ({
    id,
    hold: () => {
      held.push(id);
      return () => void held.splice(held.indexOf(id), 1);
    },
  });
  const elicit = (params: JsonObject = form, { calls = [] as readonly string[], signal = never } = {}) =>
    requests.handlersOf('default', 's').elicit(params, signal, calls.map(call));
  const sample = (params: JsonObject = { messages: [] }, signal = never) =>
    requests.handlersOf('default', 's').sample(params, signal, [call('c1')]);
  return { live, held, requests, askedModel, approvals, elicit, sample, pool };
}

const tool: ApprovalQuestion = {
  profile: 'default',
  server: 's',
  kind: 'tool',
  tool: 'write',
  message: '',
  detail: {},
  timeoutMs: 300_000,
};

const form: JsonObject = {
  message: 'Who? hunter2hunter2',
  requestedSchema: { type: 'object', properties: { name: { type: 'string', title: 'hunter2hunter2' } } },
};

t.test('SRV-1 · TRU-3 · a form is put before a person without secrets, and what is filled in goes back', async (t) => {
  const { approvals, elicit } = stage(t);
  const answer = elicit();
  const [question] = approvals.list();
  t.match(question, { kind: 'form', server: 's', profile: 'default', message: 'Who? [redacted]' });
  t.notOk('run' in (question ?? {}), 'no run is known to have caused it');
  t.match(approvals.show('a1')?.detail, { properties: { name: { title: '[redacted]' } } });

  t.match(approvals.answer('a1', true, 'me', { name: 5 }), { kind: 'refused' });
  t.match(approvals.answer('a1', true, 'me', { name: 'Ada' }), { kind: 'taken' });

  t.same(await answer, { kind: 'answered', result: { action: 'accept', content: { name: 'Ada' } } });

  const ofRun = elicit(form, { calls: ['r1-1', 'r1-2'] });
  t.same([...approvals.runsThatWait()], [['r1', 'a2']], 'the run whose call the server works on waits');
  approvals.answer('a2', false, 'me');
  t.same(await ofRun, { kind: 'answered', result: { action: 'decline' } });
});

t.test('TRU-5 · SRV-1 · the clocks of the calls that a form may be for stand still, and their runs wait', async (t) => {
  const { approvals, elicit, sample, held } = stage(t);
  const waits: string[] = [];
  const forget = ['r1', 'r2'].map((run) => approvals.whileAsked(run, (is) => void waits.push(`${run} ${is}`)));
  const shared = elicit(form, { calls: ['r1-1', 'r2-1', 'c1'] });
  t.same(held, ['r1-1', 'r2-1', 'c1']);
  t.same(waits, ['r1 true', 'r2 true']);
  t.notOk('run' in (approvals.list()[0] ?? {}), 'either run may be meant');
  forget[0]?.();
  t.equal(approvals.list().length, 1, 'the end of one run takes no question of another');
  approvals.answer('a1', true, 'me', { name: 'Ada' });
  await shared;
  t.same([held, waits], [[], ['r1 true', 'r2 true', 'r2 false']]);
  t.match(await sample(), { kind: 'answered' });
  t.same(held, [], 'a model is no person');
});

t.test('TRU-5 · SRV-1 · three forms that are not filled in stop the clock of a call, and no further one', async (t) => {
  const { approvals, elicit, held, requests } = stage(t);
  const decline = async (answer: Promise<unknown>): Promise<void> => {
    for (const { id } of approvals.list()) approvals.answer(String(id), false, 'me');
    await answer;
  };
  // Others come without end, and the first is open all the while.
  for (const other of ['c1', 'c2', 'c3']) await decline(elicit(form, { calls: ['long', other] }));
  const further = elicit(form, { calls: ['long', 'c4'] });
  t.same(held, ['c4'], 'it is asked for the other');
  await decline(further);
  t.same(await elicit(form, { calls: ['long'] }), { kind: 'answered', result: { action: 'decline' } });
  t.same([held, approvals.list()], [[], []], 'it is declined to the call itself');
  requests.callEnded('long');
  const again = elicit(form, { calls: ['long'] });
  t.same(held, ['long']);
  await decline(again);
});

t.test('TRU-5 · TRU-3 · a form that no person was shown does not count as one that was not filled in', async (t) => {
  const askers: readonly (readonly [string, Pick<ApprovalQuestion, 'run' | 'caller'>])[] = [
    ['r1-1', { run: 'r1' }],
    ['c1', { caller: 'c' }],
  ];
  for (const [call, asker] of askers) {
    const { approvals, elicit, held } = stage(t);
    const ids = Array.from({ length: maxOpenQuestions }, () => approvals.ask({ ...tool, ...asker }, () => {}));
    for (let asked = 0; asked < 4; asked += 1) {
      t.same(await elicit(form, { calls: [call] }), { kind: 'answered', result: { action: 'decline' } }, call);
    }
    t.same([held, approvals.list().length], [[], maxOpenQuestions], call);
    approvals.answer(String(ids[0]), false, 'me');

    void elicit(form, { calls: [call] });

    t.match(approvals.list().at(-1), { kind: 'form' }, `${call}: it still has forms`);
  }
});

t.test('TRU-3 · a form counts for the caller of its call, and for none where it may be for several', async (t) => {
  const { approvals, elicit } = stage(t);
  for (let open = 0; open < maxOpenQuestions; open += 1) approvals.ask({ ...tool, caller: 'c' }, () => {});
  t.same(await elicit(form, { calls: ['c1', 'c2'] }), { kind: 'answered', result: { action: 'decline' } });
  void elicit(form, { calls: ['c1', 'd1'] });
  void elicit(form, { calls: ['c1', 'r1-1'] });
  void elicit(form, { calls: ['d1'] });
  t.equal(approvals.list().length, maxOpenQuestions + 3);
});

t.test(
  'SRV-1 · a fifth form that belongs to no call is declined while four wait, and one of a call is not',
  async (t) => {
    const { approvals, elicit } = stage(t);
    const unbidden = Array.from({ length: 4 }, () => elicit());
    t.same(await elicit(), { kind: 'answered', result: { action: 'decline' } });
    const ofCall = elicit(form, { calls: ['c1'] });
    t.equal(approvals.list().length, 5);
    approvals.answer(String(approvals.list()[0]?.id), false, 'me');
    await unbidden[0];
    unbidden.push(elicit());
    t.equal(approvals.list().length, 5, 'one that ended makes room for one');
    for (const { id } of approvals.list()) approvals.answer(String(id), false, 'me');
    await Promise.all([...unbidden, ofCall]);
  },
);

t.test('SRV-1 · a form that its server takes back is shown no more', async (t) => {
  const { approvals, elicit, pool } = stage(t);
  const stop = new AbortController();
  const answer = elicit(form, { signal: stop.signal });
  t.equal(approvals.list().length, 1);
  stop.abort();
  t.same(await answer, { kind: 'answered', result: { action: 'cancel' } });
  t.same([approvals.list(), pool().size], [[], 0]);
});

t.test('SRV-1 · SRV-2 · what policy refuses asks no person', async (t) => {
  const cases: readonly (readonly [string, JsonObject, (staged: ReturnType<typeof stage>) => void])[] = [
    ['switched off', { elicitation: { enabled: false }, sampling: { enabled: false } }, () => {}],
    [
      'not configured any more',
      {},
      ({ live }) => {
        live.settings = undefined;
      },
    ],
  ];
  for (const [name, entry, change] of cases) {
    const staged = stage(t, entry);
    change(staged);
    t.same(await staged.elicit(), { kind: 'answered', result: { action: 'decline' } }, name);
    t.match(await staged.sample(), { kind: 'refused', reason: /^sampling refused: / }, name);
    t.same([staged.approvals.list(), staged.askedModel], [[], []], name);
  }
  const { live, sample, askedModel } = stage(t);
  live.model = undefined;
  t.match(await sample(), { kind: 'refused', reason: /no model is configured for sampling; set agent\.model/ });
  t.same(askedModel, []);
});

t.test('SRV-2 · the model is lent for its words alone, within the bounds of the policy', async (t) => {
  const { sample, askedModel } = stage(
    t,
    { sampling: { enabled: true, model: 'small', max_tokens_cap: 100 } },
    { answer: () => Promise.resolve(said('<think>So.</think>\n\nhalf of', 'cut')) },
  );
  const messages = [
    { role: 'user', content: { type: 'text', text: 'a\u{e0041}b' } },
    {
      role: 'assistant',
      content: [
        { type: 'text', text: 'c' },
        { type: 'text', text: 'd' },
      ],
    },
    'no message',
  ];
  const answer = await sample({
    messages,
    systemPrompt: 'Be brief\u{e0042}',
    temperature: 0.5,
    stopSequences: ['END'],
    maxTokens: 5_000,
  });

  t.same(answer, {
    kind: 'answered',
    result: {
      role: 'assistant',
      content: { type: 'text', text: 'half of' },
      model: 'small',
      stopReason: 'maxTokens',
    },
  });
  t.match(askedModel[0]?.model, { name: 'small', maxTokens: 100, baseUrl: model.baseUrl });
  t.same(askedModel[0]?.question, {
    system: 'Be brief',
    turns: [
      { role: 'user', text: 'ab' },
      { role: 'assistant', text: 'cd', calls: [] },
    ],
    tools: [],
    temperature: 0.5,
    stopSequences: ['END'],
  });

  const plain = stage(t);
  t.match(await plain.sample({}), { result: { model: 'house', stopReason: 'endTurn' } });
  t.same(plain.askedModel[0]?.question, { system: '', turns: [], tools: [] });
});

t.test('SRV-2 · only what was admitted counts in the rate', async (t) => {
  const { live, sample, askedModel } = stage(t, { sampling: { enabled: true, max_rpm: 2 } });
  const picture = { messages: [{ role: 'user', content: { type: 'image', data: '' } }] };
  t.match(await sample(picture), { kind: 'refused', reason: /text only/ });
  for (const kind of ['answered', 'answered', 'refused']) t.equal((await sample()).kind, kind);
  live.steadyMs = 60_000;
  t.equal((await sample()).kind, 'answered');
  t.equal(askedModel.length, 3);
});

t.test('SRV-2 · a model that fails, is late or is lost is a refusal with its reason', async (t) => {
  const lost: ModelVerdict = { kind: 'failed', why: 'the endpoint is gone', tokens: noTokens };
  const failing = stage(t, {}, { answer: () => Promise.resolve(lost) });
  t.same(await failing.sample(), { kind: 'refused', reason: 'sampling refused: the endpoint is gone' });

  const crashing = stage(t, {}, { answer: () => Promise.reject(new Error('hunter2hunter2')) });
  t.same(await crashing.sample(), {
    kind: 'refused',
    reason: 'sampling refused: the model could not be asked; see the log',
  });

  /** Answers nothing until it is stopped. */
  const stopped = ({ signal }: AskedModel): Promise<ModelVerdict> =>
    new Promise((resolve) => signal.addEventListener('abort', () => resolve(lost)));
  // The limit's timer alone keeps no process alive.
  const alive = setInterval(() => {}, 1_000);
  t.teardown(() => clearInterval(alive));
  const late = stage(t, {}, { answer: stopped });
  const { settings } = late.live;
  if (settings !== undefined) late.live.settings = { ...settings, sampling: { ...settings.sampling, timeoutMs: 5 } };
  t.same(await late.sample(), { kind: 'refused', reason: 'sampling refused: the model gave no answer in 0.005 s' });

  const stop = new AbortController();
  const taken = stage(t, {}, { answer: stopped });
  const answer = taken.sample({}, stop.signal);
  await turn();
  stop.abort();
  t.same(await answer, { kind: 'refused', reason: 'sampling refused: cancelled' });
  t.ok(taken.askedModel[0]?.signal.aborted, 'the model is not asked on');
});

t.test('SRV-2 · a model that refuses to answer gives its server no empty answer', async (t) => {
  const refusing = stage(t, {}, { answer: () => Promise.resolve(said('', 'refused')) });
  t.same(await refusing.sample(), {
    kind: 'refused',
    reason: 'sampling refused: the model, or the filter of its endpoint, refused to answer',
  });
});

t.test('SRV-2 · a model that is taken out of the configuration meanwhile is not asked', async (t) => {
  let reads = 0;
  const { live, sample, askedModel } = stage(t);
  Object.defineProperty(live, 'model', { get: () => (reads++ === 0 ? model : undefined) });
  t.match(await sample(), { kind: 'refused', reason: /the server or the model is not configured any more/ });
  t.same(askedModel, []);
});
