import t from 'tap';
import { type AnyStateMachine, fromPromise } from 'xstate';
import { type ChatContext, chatSessionMachine } from '../../machines/agent/chat-session.machine.ts';
import { edgesOf, valuesOf } from '../support/edges.ts';

const idle = fromPromise<never, never>(() => new Promise<never>(() => {})) as never;
const machine = chatSessionMachine.provide({
  actors: { answerTurn: idle, awaitStopped: idle },
  actions: { reportTurn: () => {}, forget: () => {} },
}) as unknown as AnyStateMachine;
const events = [
  'turn.begin',
  'turn.cancel',
  'chat.close',
  'xstate.done.actor.answerTurn',
  'xstate.error.actor.answerTurn',
  'xstate.done.actor.awaitStopped',
  'xstate.error.actor.awaitStopped',
  'xstate.after.stopPatience.chatSession.cancelling',
].map((type) => ({ type, output: undefined }));

const edges = edgesOf<ChatContext>(machine, {
  input: { id: 'c1', profile: 'default' },
  events,
  stopWhen: ({ context }) => context.turns > 3,
});

t.test('CLI-4 · every state is reached, and closing ends the session from each', (t) => {
  t.same([...valuesOf(edges)].sort(), Object.keys(chatSessionMachine.config.states ?? {}).sort());
  for (const { event, to } of edges) if (event.type === 'chat.close') t.equal(to.value, 'closed');
  t.end();
});

t.test('CLI-4 · a turn begins only while user input is awaited, and each one that ends is counted once', (t) => {
  for (const { from, event, to } of edges) {
    const step = `${from.value} · ${event.type}`;
    if (to.value === 'answering' && from.value !== 'answering') t.equal(step, 'idle · turn.begin');
    const isEnd = to.value === 'idle' && from.value !== 'idle';
    t.equal(to.context.turns - from.context.turns, isEnd ? 1 : 0, step);
    if (to.value === 'cancelling' && from.value !== 'cancelling') t.equal(step, 'answering · turn.cancel');
  }
  t.end();
});
