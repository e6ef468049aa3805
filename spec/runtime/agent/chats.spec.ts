import t from 'tap';
import type { ChatInput } from '../../../machines/agent/chat-session.machine.ts';
import { createChats } from '../../../runtime/agent/chats.ts';
import { fakePool } from '../../support/pools.ts';

const spending = { steps: 1, inputTokens: 1, outputTokens: 1 };

function stage() {
  const pool = fakePool<ChatInput>();
  const chats = createChats(pool.handle as never);
  return { pool, chats, id: chats.open('default', () => {}) ?? '' };
}

t.test('CLI-4 · a turn is sent to its chart, and answered once that has ended', async (t) => {
  const { pool, chats, id } = stage();
  t.same(pool.spawned[0]?.input, { id, profile: 'default' });
  const turn = chats.say(id, 'Hello');
  t.same(pool.spawned[0]?.heard, [{ type: 'turn.begin' }]);
  t.equal(chats.say(id, 'again'), undefined, 'one turn at a time');
  t.equal(chats.renew(id), false);
  const row = chats.get(id);
  t.same(row?.turns, [{ role: 'user', text: 'Hello' }]);
  if (row !== undefined) row.outcome = { kind: 'answered', text: 'Hi', spending };
  chats.turnEnded(id);
  t.same(await turn, { kind: 'answered', text: 'Hi', spending });
  chats.turnEnded(id);
  const before = chats.get(id)?.turn;
  t.equal(chats.renew(id), true);
  t.same(chats.get(id)?.turns, []);
  t.not(chats.get(id)?.turn, before, 'what a cancelled turn still brings is of another conversation');
});

t.test('CLI-4 · a turn that ended without an outcome was cancelled', async (t) => {
  const { pool, chats, id } = stage();
  t.equal(chats.cancel(id), false, 'there is no turn');
  const turn = chats.say(id, 'Hello');
  t.equal(chats.cancel(id), true);
  t.same(pool.spawned[0]?.heard.at(-1), { type: 'turn.cancel' });
  chats.turnEnded(id);
  t.same(await turn, { kind: 'cancelled' });
});

t.test('CLI-4 · the next message follows an answer, even if there was none', (t) => {
  const { chats, id } = stage();
  void chats.say(id, 'Hello');
  chats.turnEnded(id);
  void chats.say(id, 'again');
  t.match(chats.get(id)?.turns, [
    { role: 'user', text: 'Hello' },
    { role: 'assistant', text: '(no answer)', calls: [] },
    { role: 'user', text: 'again' },
  ]);
  t.end();
});

t.test('CLI-4 · a session that is closed is forgotten', (t) => {
  const { pool, chats, id } = stage();
  chats.close(id);
  t.same(pool.spawned[0]?.heard, [{ type: 'chat.close' }]);
  t.equal(chats.get(id), undefined);
  t.equal(chats.say(id, 'x'), undefined);
  t.equal(chats.cancel(id), false);
  t.equal(chats.renew(id), false);
  t.end();
});

t.test('CLI-4 · CON-2 · a terminal outlives the servers’ half and is notified', (t) => {
  const pool = fakePool<ChatInput>();
  let lives = true;
  const chats = createChats(() => (lives ? (pool.handle() as never) : undefined));
  const id = chats.open('default', () => {}) ?? '';
  lives = false;
  t.equal(chats.say(id, 'x'), undefined);
  t.equal(
    chats.open('default', () => {}),
    undefined,
  );
  chats.close(id);
  t.equal(chats.get(id), undefined);
  t.end();
});

t.test('CLI-4 · CON-2 · no session begins while the gateway stops', (t) => {
  const pool = fakePool<ChatInput>();
  let id = '';
  const chats = createChats(
    () =>
      ({
        ...pool.handle(),
        spawn: (key: string) => {
          id = key;
        },
      }) as never,
  );
  t.equal(
    chats.open('default', () => {}),
    undefined,
  );
  t.equal(chats.get(id), undefined);
  t.end();
});
