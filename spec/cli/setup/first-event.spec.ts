import t from 'tap';
import { sendFirstEvent } from '../../../cli/setup/first-event.ts';

t.test('CLI-1 · a first event whose run has ended otherwise is not waited for', async (t) => {
  for (const status of ['cancelled', 'partial', 'failed']) {
    const asked: string[] = [];
    const answers: Readonly<Record<string, object>> = {
      'webhook.test': { status: 202, body: '{"delivery_id": "d"}' },
      'webhook.delivery': { status, reason: 'a reason' },
    };
    const outcome = await sendFirstEvent({
      ask: (method: string) => {
        asked.push(method);
        return Promise.resolve((answers[method] ?? {}) as never);
      },
    });
    t.same(outcome, { kind: 'failed', why: `it ended as ${status}: a reason` });
    t.equal(asked.at(-1), 'webhook.remove');
  }
});

t.test('CLI-1 · CLI-6 · Ctrl-C while the first event is waited for leaves no subscription', async (t) => {
  const before = process.listeners('SIGINT');
  const own = () => process.listeners('SIGINT').filter((one) => !before.includes(one));
  const asked: string[] = [];
  const outcome = await sendFirstEvent({
    ask: (method: string) => {
      asked.push(method);
      if (method === 'webhook.test') return Promise.resolve({ status: 202, body: '{"delivery_id": "d"}' } as never);
      if (method === 'webhook.delivery') for (const interrupt of own()) interrupt('SIGINT');
      return Promise.resolve({ status: 'accepted' } as never);
    },
  });
  t.same(outcome, { kind: 'cancelled' });
  t.equal(asked.at(-1), 'webhook.remove');
  t.same(own(), []);
});
