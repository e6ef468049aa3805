import t from 'tap';
import { subscribeToChanges } from '../../../actors/mcp/subscribe-changes.ts';

type Client = Parameters<typeof subscribeToChanges>[0];
type Ending = 'local' | 'remote' | 'refused' | 'stands';

// The waits keep no process alive.
const alive = setInterval(() => {}, 1_000);
t.teardown(() => clearInterval(alive));

/** A client whose asks for the stream end one after another as they are told, and at last in the session's own end. */
function listen(
  endings: readonly Ending[],
  { capabilities = { tools: { listChanged: true } } as object, waitMs = 1 } = {},
) {
  const asked: unknown[] = [];
  const told: string[] = [];
  const session = new AbortController();
  const client = {
    getServerCapabilities: () => capabilities,
    listen: (filter: unknown) => {
      const ending = endings[asked.length];
      asked.push(filter);
      if (ending === 'refused') return Promise.reject(new Error('not now'));
      if (ending === undefined) session.abort();
      return Promise.resolve({ closed: Promise.resolve(ending ?? 'local') });
    },
  } as unknown as Client;
  const listener = {
    missed: () => void told.push('missed'),
    refused: (thrown: unknown) => void told.push(String(thrown)),
    signal: session.signal,
  };
  const over = subscribeToChanges(client, listener, { firstMs: waitMs, maxMs: waitMs });
  return { asked, told, over, session };
}

t.test('FLT-4 · only lists that change are listened for, and none where there is none', async (t) => {
  const all = listen(['local'], {
    capabilities: { tools: { listChanged: true }, resources: { listChanged: true }, prompts: {} },
  });
  await all.over;
  t.same(all.asked, [{ toolsListChanged: true, resourcesListChanged: true }]);

  const none = listen(['local'], { capabilities: { tools: {}, prompts: { listChanged: false } } });
  await none.over;
  t.same(none.asked, []);
});

t.test(
  'FLT-4 · a stream that ended or was not given is asked for again, and then asks for what was missed',
  async (t) => {
    const { asked, told, over } = listen(['remote', 'refused']);
    await over;
    t.equal(asked.length, 3);
    t.same(told, ['Error: not now', 'missed'], 'nothing was missed before the first stood');
  },
);

t.test('FLT-4 · the end of the session ends the wait for the next try', async (t) => {
  const { asked, told, over, session } = listen(['refused'], { waitMs: 3_600_000 });
  await new Promise((resolve) => setImmediate(resolve));
  session.abort();
  await over;
  t.equal(asked.length, 1);
  t.same(told, ['Error: not now']);
});
