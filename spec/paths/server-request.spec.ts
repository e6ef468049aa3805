import t from 'tap';
import { type AnyStateMachine, assign, type EventObject } from 'xstate';
import {
  type ServerRequestContext,
  type ServerRequestEvent,
  type ServerRequestInput,
  serverRequestMachine,
} from '../../machines/mcp/server-request.machine.ts';
import { doneBy, failedBy, walksOf } from '../support/walks.ts';

const events: readonly EventObject[] = [
  ...['approved', 'denied', 'timedOut'].map((verdict) => ({ type: 'approval.settled', verdict }) as EventObject),
  { type: 'request.cancel' },
  doneBy('runModel', { kind: 'made' }),
  doneBy('runModel', { kind: 'failed', why: 'HTTP 500' }),
  failedBy('runModel'),
];

function pathsOf(kind: ServerRequestInput['kind'], refusal?: string) {
  const machine = serverRequestMachine.provide({
    actions: {
      admit: assign<ServerRequestContext, ServerRequestEvent, unknown, ServerRequestEvent, never>(() =>
        refusal === undefined ? {} : { refused: true, why: refusal },
      ),
    },
  }) as unknown as AnyStateMachine;
  const input: ServerRequestInput = { id: 'q1', profile: 'default', server: 's', kind };
  return walksOf<ServerRequestContext, { readonly verdict?: string; readonly output?: object }>(machine, {
    input,
    events,
    limit: 1_000,
  });
}

t.test('SRV-1 · SRV-2 · what policy refuses asks no person', (t) => {
  for (const kind of ['elicitation', 'sampling'] as const) {
    const paths = pathsOf(kind, 'switched off');
    t.same(
      paths.map(({ value }) => value),
      ['answered'],
      kind,
    );
    t.match(paths[0]?.context, { refused: true, why: 'switched off' }, kind);
  }
  t.end();
});

t.test('SRV-1 · a form is answered with values by an approval and by nothing else', (t) => {
  const paths = pathsOf('elicitation');
  t.same(new Set(paths.map(({ value }) => value)), new Set(['asking', 'answered']));
  for (const { value, context, told } of paths) {
    if (value !== 'answered') continue;
    const [only, ...more] = told;
    t.same(more, []);
    t.equal(context.refused, only?.verdict !== 'approved', JSON.stringify(told));
    if (context.refused) t.equal(context.why, only?.type === 'request.cancel' ? 'cancelled' : only?.verdict);
  }
  t.end();
});

t.test('SRV-2 · a model that fails, crashes or is cancelled gives a refusal with its reason', (t) => {
  const paths = pathsOf('sampling');
  t.same(new Set(paths.map(({ value }) => value)), new Set(['sampling', 'answered']));
  for (const { value, context, told } of paths) {
    if (value !== 'answered') continue;
    const made = (told[0]?.output as { kind?: string } | undefined)?.kind === 'made';
    t.equal(context.refused, !made, JSON.stringify(told));
    if (!made) t.ok((context.why ?? '') !== '', JSON.stringify(told));
  }
  t.end();
});
