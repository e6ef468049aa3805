import t from 'tap';
import { assign, createActor, fromPromise } from 'xstate';
import { compile } from '../../machines/base/compile.ts';
import type { Route } from '../../machines/config/route.ts';
import type { Outcome } from '../../machines/webhook/reply.ts';
import type { ScriptResult } from '../../machines/webhook/script-outcome.ts';
import {
  type PlanKind,
  type RequestContext,
  type RequestEvent,
  type RequestInput,
  requestContext,
  type ScriptInput,
  webhookRequestMachine,
} from '../../machines/webhook/webhook-request.machine.ts';
import { turn } from '../support/turns.ts';

interface Drawn {
  /** The rule that decides; absent: none does. */
  readonly decides?: string;
  readonly plan?: PlanKind;
  readonly script?: boolean;
  readonly body?: Extract<RequestEvent['type'], `body.${string}`>;
  readonly claim?: RequestEvent;
  readonly origin?: 'http' | 'replay';
}

/** Runs a request whose rules do as they are told, and returns its states and its end. */
async function walk({
  decides,
  plan = 'run',
  script = false,
  body = 'body.read',
  claim = { type: 'claim.granted' },
  origin = 'http',
}: Drawn) {
  const rule = (name: string, known: Partial<RequestContext> = {}) =>
    assign<RequestContext, RequestEvent, unknown, RequestEvent, never>(() =>
      decides === name ? { ...known, outcome: { kind: 'badBody' } as Outcome } : known,
    );
  const answers: Outcome[] = [];
  const machine = webhookRequestMachine.provide({
    actors: {
      runScript: fromPromise<ScriptResult, ScriptInput>(() => Promise.resolve({ kind: 'exited', code: 0, stdout: '' })),
    },
    actions: {
      takeAllowance: () => {},
      noteDeprecated: () => {},
      checkSize: rule('checkSize'),
      findRoute: rule('findRoute', {
        route: { name: 'r', deliver: 'sms', ...(script ? { script: 's.sh' } : {}) } as unknown as Route,
      }),
      checkRate: rule('checkRate'),
      readBody: ({ self }) => self.send({ type: body }),
      verifySignature: rule('verifySignature'),
      parsePayload: rule('parsePayload', { payload: {}, event: 'e', deliveryId: 'd' }),
      matchEvent: rule('matchEvent'),
      readScript: rule('readScript'),
      renderTexts: rule('renderTexts', { plan }),
      claimDelivery: ({ self }) => self.send(claim),
      dispatchPlan: ({ context, self }) =>
        context.plan === 'direct' && self.send({ type: 'delivery.settled', delivered: true }),
      answer: ({ context }) => void (context.outcome && answers.push(context.outcome)),
    },
  });
  const input: RequestInput = { id: 'x', origin, method: 'POST', path: '/', receivedAtMs: 0 };
  const actor = createActor(compile(machine, { trail: 40 }), { input });
  await new Promise<void>((resolve) => {
    actor.subscribe({ complete: resolve });
    actor.start();
  });
  const { steps } = actor.getSnapshot() as unknown as { steps: readonly { to: string }[] };
  return { states: steps.map(({ to }) => to), answers };
}

const asksForConfirmation: Outcome = { kind: 'handshake', status: 200, body: '{}', visitField: 'SubscribeURL' };

/** A request that waits in a state for what the spec does not give. */
function open(
  state: 'readingBody' | 'confirming' | 'scripting' | 'claiming' | 'dispatching',
  plan: PlanKind = 'direct',
) {
  const answers: Outcome[] = [];
  let dispatched = 0;
  let signal: AbortSignal | undefined;
  const nothing = (): void => {};
  const known = (context: Partial<RequestContext>) =>
    assign<RequestContext, RequestEvent, unknown, RequestEvent, never>(() => context);
  const route = { name: 'r', deliver: 'sms', ...(state === 'scripting' ? { script: 's.sh' } : {}) };
  const machine = webhookRequestMachine.provide({
    actors: {
      runScript: fromPromise<ScriptResult, ScriptInput>((scope) => {
        signal = scope.signal;
        return new Promise(nothing);
      }),
      confirmSubscription: fromPromise<Partial<RequestContext>, RequestContext>(() => new Promise(nothing)),
    },
    actions: {
      takeAllowance: nothing,
      noteDeprecated: nothing,
      checkSize: nothing,
      findRoute: known({ route: route as unknown as Route }),
      checkRate: nothing,
      readBody: ({ self }) => state !== 'readingBody' && self.send({ type: 'body.read' }),
      verifySignature: known(state === 'confirming' ? { outcome: asksForConfirmation } : {}),
      parsePayload: known({ payload: {}, event: 'e', deliveryId: 'd' }),
      matchEvent: nothing,
      readScript: nothing,
      renderTexts: known({ plan }),
      claimDelivery: ({ self }) => state !== 'claiming' && self.send({ type: 'claim.granted' }),
      dispatchPlan: () => {
        dispatched += 1;
      },
      answer: ({ context }) => void (context.outcome && answers.push(context.outcome)),
    },
  });
  const actor = createActor(compile(machine), {
    input: { id: 'x', origin: 'http', method: 'POST', path: '/', receivedAtMs: 0 },
  }).start();
  const late: readonly RequestEvent[] = [
    { type: 'body.read' },
    { type: 'claim.granted' },
    { type: 'delivery.settled', delivered: true },
  ];
  return {
    actor,
    answers,
    dispatched: () => dispatched,
    value: () => (actor.getSnapshot() as unknown as { value: string }).value,
    aborted: () => signal?.aborted === true,
    finish: () => {
      for (const event of late) actor.send(event);
    },
  };
}

const way = [
  'routing',
  'throttling',
  'readingBody',
  'verifying',
  'parsing',
  'matching',
  'rendering',
  'claiming',
  'dispatching',
  'answered',
];

t.test('RTE-3 · a rule that decides ends the request in its own state, and is answered once', async (t) => {
  const rows: readonly (readonly [string, string])[] = [
    ['checkSize', 'sizing'],
    ['findRoute', 'routing'],
    ['checkRate', 'throttling'],
    ['verifySignature', 'verifying'],
    ['parsePayload', 'parsing'],
    ['matchEvent', 'matching'],
    ['renderTexts', 'rendering'],
  ];
  for (const [decides, state] of rows) {
    const { states, answers } = await walk({ decides });
    t.same(states, [...way.slice(0, way.indexOf(state) + 1), 'answered'], decides);
    t.same(answers, [{ kind: 'badBody' }], decides);
  }
  const scripted = await walk({ decides: 'readScript', script: true });
  t.same(scripted.states.slice(-3), ['scripting', 'transforming', 'answered']);
});

t.test('DIS-1 · IDM-1 · LIM-1 · each way through has its one answer', async (t) => {
  const named = { route: 'r', event: 'e', deliveryId: 'd' };
  const rows: readonly (readonly [Drawn, readonly string[], readonly Outcome[]])[] = [
    [{}, way, [{ kind: 'accepted', ...named }]],
    [{ plan: 'group' }, way, [{ kind: 'coalesced', ...named }]],
    [{ plan: 'cron' }, way, [{ kind: 'cron', ...named }]],
    [{ plan: 'direct' }, way, [{ kind: 'delivered', route: 'r', target: 'sms', deliveryId: 'd' }]],
    [{ origin: 'replay' }, ['routing', 'parsing', ...way.slice(5)], [{ kind: 'accepted', ...named }]],
    [
      { claim: { type: 'claim.duplicate' } },
      [...way.slice(0, 8), 'answered'],
      [{ kind: 'duplicate', deliveryId: 'd' }],
    ],
    [{ claim: { type: 'claim.pending' } }, [...way.slice(0, 8), 'answered'], [{ kind: 'pending' }]],
    [
      { claim: { type: 'claim.unavailable', reason: 'full' } },
      [...way.slice(0, 8), 'answered'],
      [{ kind: 'unavailable' }],
    ],
    [{ body: 'body.overflowed' }, [...way.slice(0, 3), 'answered'], [{ kind: 'tooLarge' }]],
    [{ body: 'body.crowded' }, [...way.slice(0, 3), 'answered'], [{ kind: 'overloaded' }]],
    [{ body: 'body.aborted' }, [...way.slice(0, 3), 'abandoned'], []],
  ];
  for (const [drawn, states, answers] of rows) {
    const walked = await walk(drawn);
    t.same(walked.states, states, JSON.stringify(drawn));
    t.same(walked.answers, answers, JSON.stringify(drawn));
  }
});

t.test(
  'CON-2 · a request that has no claim, or waits for its delivery, is answered once by a gateway that stops',
  async (t) => {
    for (const state of ['readingBody', 'confirming', 'scripting', 'dispatching'] as const) {
      const { actor, answers, aborted, dispatched, finish, value } = open(state);
      t.equal(value(), state);
      actor.send({ type: 'request.drain' });
      t.same([value(), answers], ['answered', [{ kind: 'draining' }]], state);
      t.equal(aborted(), state === 'scripting', `${state}: a script is ended`);
      finish();
      await turn();
      t.same(answers, [{ kind: 'draining' }], state);
      t.equal(dispatched(), state === 'dispatching' ? 1 : 0, state);
    }
  },
);

t.test("CON-2 · DLV-2 · a claim granted after the drain's time still opens its delivery", (t) => {
  const rows: readonly (readonly [PlanKind, RequestEvent, opened: number, Outcome['kind']])[] = [
    ['direct', { type: 'claim.granted' }, 1, 'draining'],
    ['run', { type: 'claim.granted' }, 1, 'accepted'],
    ['group', { type: 'claim.granted' }, 1, 'coalesced'],
    ['direct', { type: 'claim.duplicate' }, 0, 'duplicate'],
    ['direct', { type: 'claim.pending' }, 0, 'pending'],
    ['direct', { type: 'claim.unavailable', reason: 'full' }, 0, 'unavailable'],
  ];
  for (const [plan, verdict, opened, answer] of rows) {
    const { actor, answers, dispatched, value } = open('claiming', plan);
    const title = `${plan}: ${verdict.type}`;
    actor.send({ type: 'request.drain' });
    t.same([value(), answers], ['claiming', []], `${title}: what the journal takes is not known yet`);
    actor.send(verdict);
    t.same([value(), dispatched(), answers.map(({ kind }) => kind)], ['answered', opened, [answer]], title);
  }
  t.end();
});

t.test('RTE-3 · a copy of a context holds what it held, field by field', (t) => {
  const input: RequestContext = { id: 'k1', origin: 'http', method: 'POST', path: '/webhooks/r', receivedAtMs: 5 };
  const fields = Object.keys(requestContext(input));
  const full = Object.fromEntries(fields.map((field) => [field, { of: field }])) as unknown as RequestContext;

  t.same(requestContext(full), full);
  t.same(
    Object.entries(requestContext(input)).filter(([, value]) => value !== undefined),
    Object.entries(input),
    'and is made of an input likewise',
  );
  t.end();
});
