import t from 'tap';
import { createCallQueues } from '../../../actors/mcp/call-queues.ts';
import { turn } from '../../support/turns.ts';

const serial = { server: 's', parallel: false };

/** Work that waits to be released, and writes down when it began, and how it ended. */
function stage() {
  const queues = createCallQueues();
  const told: string[] = [];
  const open = new Map<string, () => void>();
  return {
    queues,
    told,
    run: (name: string, queue = serial) =>
      queues.run<string>(
        queue,
        (settle) => {
          told.push(`${name} began`);
          open.set(name, () => settle(`${name} ended`));
          return () => settle(`${name} cancelled`);
        },
        (outcome) => void told.push(outcome),
      ),
    release: async (name: string) => {
      open.get(name)?.();
      await turn();
    },
  };
}

t.test('LIF-11 · calls of one server run one after another, in their order', async (t) => {
  const { told, run, release } = stage();
  run('one');
  run('two');
  run('other', { server: 't', parallel: false });
  await turn();
  t.same(told, ['one began', 'other began'], 'another server does not wait');
  await release('one');
  t.same(told.slice(2), ['one ended', 'two began']);
  await release('two');
  t.equal(told.at(-1), 'two ended');
});

t.test('LIF-11 · a server that takes parallel calls gets them at once, in this very turn', async (t) => {
  const { told, run, release } = stage();
  run('one', { server: 's', parallel: true });
  run('two', { server: 's', parallel: true });
  t.same(told, ['one began', 'two began']);
  await release('two');
  await release('one');
  t.same(told.slice(2), ['two ended', 'one ended']);
});

t.test('LIF-11 · a cancelled call gives its turn on; one that is cancelled while it waits never begins', async (t) => {
  const { told, run, release } = stage();
  const cancelOne = run('one');
  const cancelTwo = run('two');
  run('three');
  await turn();
  cancelTwo();
  cancelOne();
  await turn();
  t.same(told, ['one began', 'one cancelled', 'three began']);
  await release('three');
  t.equal(told.at(-1), 'three ended');
});
