import t from 'tap';
import { createActor } from 'xstate';
import { assembleChats } from '../../../runtime/agent/assemble-chats.ts';

/** How a turn ends whose profile has these settings, in a gateway that cannot be asked for its servers. */
function outcome(settings: object | undefined) {
  const { pool, view } = assembleChats({
    root: () => root,
    home: () =>
      ({ profiles: new Map(settings === undefined ? [] : [['work', { settings: { agent: settings } }]]) }) as never,
    servers: () => ({ settled: () => Promise.reject(new Error('chat-turn-x.js does not exist')) }) as never,
    compiling: {},
    redact: (text) => text,
    nowMs: () => 0,
    log: { log: () => {}, warnOnce: () => {} },
  });
  const root = createActor(pool, { systemId: 'chats' }).start();
  return view.say(view.open('work', () => {}) ?? '', 'Hello');
}

t.test('CLI-4 · a turn of a profile that a reload removed names it', async (t) => {
  t.match(await outcome(undefined), { kind: 'failed', reason: /the profile "work" is not configured any more/ });
});

t.test('CLI-4 · a turn that fails unexpectedly ends with the reason', async (t) => {
  t.match(await outcome({}), { kind: 'failed', reason: 'chat-turn-x.js does not exist' });
});
