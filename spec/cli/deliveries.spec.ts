import t from 'tap';
import { retrySending } from '../../cli/commands/deliveries.ts';
import { stageCommand } from '../support/command-stage.ts';

t.test('DLV-4 · CLI-2 · who retries a delivery behind a pause reads until when it waits, and why', async (t) => {
  const until = new Date(Date.now() + 3 * 86_400_000).toISOString();
  const row = { id: 'k1', target: 'dingtalk' };
  for (const [pause, words] of [
    [{}, 'Trying k1 again at dingtalk as soon as it has its turn.\n'],
    [
      { paused_until: until, pause_reason: 'dingtalk asks for fewer messages' },
      'k1 waits at dingtalk for a pause that ends in 3d: dingtalk asks for fewer messages\n',
    ],
  ] as const) {
    const { context, seen } = stageCommand({ answer: { ...row, ...pause }, args: ['k1'] });
    t.equal(await retrySending(context), 0);
    t.equal(seen.printed, words);
  }
});
