import t from 'tap';
import type { Logger } from '../../../actors/ports.ts';
import type { DeliveryRecord, EventRecord, RunRecord } from '../../../machines/webhook/record.ts';
import { logDelivery, logRun, logStopped, logUnforeseen } from '../../../runtime/dispatch/work-log.ts';
import { plainDelivery, plainRun } from '../../support/records.ts';

function collect(): { readonly lines: unknown[]; readonly log: Logger } {
  const lines: unknown[] = [];
  return { lines, log: { log: (...line) => void lines.push(line), warnOnce: () => {} } };
}

const run: RunRecord = {
  ...plainRun,
  ...{ profile: 'work', status: 'delivered', attempt: 2, superseded: 3 },
  response: 'what the agent said is no news',
};

t.test('OBS-1 · a run that ended has one line with its delivery id; that one failed is an error', (t) => {
  for (const [status, level, words = status] of [
    ['delivered', 'info'],
    ['failed', 'error'],
    ['interrupted', 'error'],
    ['unknown', 'error', 'unconfirmed'],
    ['cancelled', 'warn'],
  ] as const) {
    const { lines, log } = collect();
    logRun('k1', { ...run, status, reason: 'why' }, { deliveryId: 'd1' } as EventRecord, log);
    t.same(lines, [
      [
        level,
        `run ${words}`,
        { delivery_id: 'd1', run: 'k1', route: 'r', profile: 'work', attempt: 2, superseded: 3, reason: 'why' },
      ],
    ]);
  }
  const left = collect();
  logRun('k1', { ...run, status: 'running' }, undefined, left.log);
  t.match(left.lines, [['warn', 'run left to another gateway']]);
  const { lines, log } = collect();
  logRun('k1', run, undefined, log);
  t.match(lines, [['info', 'run delivered', { delivery_id: undefined, run: 'k1' }]], 'its event may be forgotten');
  t.end();
});

t.test('OBS-1 · DIS-2 · a delivery that ended has one line that holds the cause and not the text', (t) => {
  const delivery: DeliveryRecord = {
    ...plainDelivery,
    ...{ deliveryId: 'd1', target: 'telegram', status: 'delivered', messageId: 'm1' },
    text: 'the text',
  };
  for (const [status, level, words = status] of [
    ['delivered', 'info'],
    ['failed', 'error'],
    ['unknown', 'error', 'unconfirmed'],
    ['waitingToRetry', 'warn', 'waiting to retry'],
    ['sending', 'warn', 'left to another gateway'],
  ] as const) {
    const { lines, log } = collect();
    logDelivery('k2', { ...delivery, status, reason: 'why' }, log);
    t.same(lines, [
      [
        level,
        `delivery ${words}`,
        {
          delivery_id: 'd1',
          delivery: 'k2',
          route: 'r',
          profile: 'default',
          target: 'telegram',
          message_id: 'm1',
          reason: 'why',
        },
      ],
    ]);
  }
  t.end();
});

t.test('INS-1 · OBS-1 · an unforeseen failure is an error with its cause', (t) => {
  const { lines, log } = collect();
  logUnforeseen(log, 'runs/k', new TypeError('a flaw'));
  t.same(lines, [['error', 'runs/k: a flaw', { actor: 'runs/k', error: 'TypeError: a flaw' }]]);
  t.end();
});

t.test('COA-3 · the line of a stop says how many runs and deliveries wait on disk', (t) => {
  const next = 'on disk for the next start';
  for (const [left, message] of [
    [undefined, 'stopped'],
    [{ runs: 0, deliveries: 0 }, 'stopped'],
    [{ runs: 1, deliveries: 0 }, `stopped; 1 run waits ${next}`],
    [{ runs: 3, deliveries: 1 }, `stopped; 3 runs and 1 delivery wait ${next}`],
    [{ runs: 0, deliveries: 2 }, `stopped; 2 deliveries wait ${next}`],
  ] as const) {
    const { lines, log } = collect();
    logStopped(left, log);
    const fields = left && { runs_waiting: left.runs, deliveries_waiting: left.deliveries };
    t.same(lines, [['info', message, fields]]);
  }
  t.end();
});
