import t from 'tap';
import { createActor } from 'xstate';
import type { ChatInput } from '../../../machines/agent/chat-session.machine.ts';
import { wireChatSession } from '../../../runtime/agent/chat-wiring.ts';
import { createChats } from '../../../runtime/agent/chats.ts';
import { fakePool } from '../../support/pools.ts';

/** How a turn ends whose profile has these settings, in a gateway that cannot be asked for its servers. */
function outcome(settings: object | undefined) {
  const pool = fakePool<ChatInput>();
  const chats = createChats(pool.handle as never);
  const id = chats.open('work', () => {}) ?? '';
  const logic = wireChatSession({
    chats,
    settings: () => settings as never,
    turn: () => {
      throw new Error('no turn is begun');
    },
    settled: () => Promise.reject(new Error('chat-turn-x.js does not exist')),
  });
  const session = createActor(logic, { input: { id, profile: 'work' } }).start();
  const turn = chats.say(id, 'Hello');
  session.send({ type: 'turn.begin' });
  return turn;
}

t.test('CLI-4 · a turn of a profile that a reload removed names it', async (t) => {
  t.match(await outcome(undefined), { kind: 'failed', reason: /the profile "work" is not configured any more/ });
});

t.test('CLI-4 · a turn that fails unexpectedly ends with the reason', async (t) => {
  t.match(await outcome({}), { kind: 'failed', reason: 'chat-turn-x.js does not exist' });
});
