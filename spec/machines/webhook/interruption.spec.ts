import t from 'tap';
import { interruptedDelivery, interruptedRun, runAsSeen } from '../../../machines/webhook/interruption.ts';
import { type DeliveryRecord, isOver, type RunRecord } from '../../../machines/webhook/record.ts';
import { withResponses } from '../../../machines/webhook/responses.ts';
import { plainDelivery, plainRun } from '../../support/records.ts';

const run: RunRecord = { ...plainRun, status: 'running', attempt: 1, startedAtMs: 2 };
const delivery: DeliveryRecord = { ...plainDelivery, queuedAtMs: 1_000 };

t.test(
  'DUR-1 · a run that was cut off runs again, five times at most once it had the prompt, or ends as interrupted',
  (t) => {
    const unseen = { attempt: 1, prompted: false } as const;
    const rows: readonly (readonly [Partial<RunRecord>, 'rerun' | 'report', Partial<RunRecord>])[] = [
      [{ attempt: 1 }, 'rerun', { status: 'queued', attempt: 1, cutOffs: 1 }],
      [{ attempt: 5, cutOffs: 4 }, 'rerun', { status: 'queued', attempt: 5, cutOffs: 5 }],
      [
        { attempt: 6, cutOffs: 5 },
        'rerun',
        { status: 'interrupted', cutOffs: 6, reason: 'cut off by 6 crashes, at last in attempt 6' },
      ],
      [{ attempt: 1 }, 'report', { status: 'interrupted', cutOffs: 1, reason: 'cut off by a crash in attempt 1' }],
      [unseen, 'rerun', { status: 'queued', attempt: 0, cutOffs: 1 }],
      [unseen, 'report', { status: 'queued', attempt: 0, cutOffs: 1 }],
      [{ attempt: 5, cutOffs: 20 }, 'rerun', { status: 'queued', attempt: 5, cutOffs: 21 }],
      [{ attempt: 6, prompted: false, cutOffs: 24 }, 'rerun', { status: 'queued', attempt: 5, cutOffs: 25 }],
      [
        { attempt: 6, cutOffs: 7 },
        'rerun',
        { status: 'interrupted', cutOffs: 8, reason: 'cut off by 8 crashes, at last in attempt 6' },
      ],
      [
        { ...unseen, cutOffs: 25 },
        'report',
        {
          status: 'interrupted',
          attempt: 0,
          cutOffs: 26,
          reason: 'cut off by 26 crashes, at last before the agent had the prompt',
        },
      ],
      [{ status: 'queued', attempt: 0 }, 'report', { status: 'queued', attempt: 0 }],
      [{ status: 'failed', reason: 'why' }, 'rerun', { status: 'failed', reason: 'why' }],
    ];
    for (const [record, policy, expected] of rows) {
      const { prompted: _, ...rest } = { ...run, ...record };
      t.same(interruptedRun({ ...run, ...record }, undefined, policy), { ...rest, ...expected });
    }
    t.end();
  },
);

t.test('DUR-1 · a run that was delivering goes on with what its delivery has become', (t) => {
  const delivering: RunRecord = { ...run, status: 'delivering', response: 'said' };
  const rows: readonly (readonly [DeliveryRecord | undefined, Partial<RunRecord>])[] = [
    [undefined, {}],
    [delivery, {}],
    [{ ...delivery, status: 'waitingToRetry', reason: 'HTTP 500' }, {}],
    [{ ...delivery, status: 'delivered' }, { status: 'delivered' }],
    [
      { ...delivery, status: 'deadLettered', reason: 'no chat' },
      { status: 'failed', reason: 'no chat' },
    ],
    [{ ...delivery, status: 'unknown' }, { status: 'unknown' }],
  ];
  for (const [known, expected] of rows) {
    t.same(interruptedRun(delivering, known, 'rerun'), { ...delivering, ...expected });
    if (known !== undefined && isOver(known))
      t.same(withResponses(delivering, [known]), { ...delivering, ...expected });
  }
  const triedBefore: RunRecord = { ...delivering, reason: 'HTTP 500' };
  t.same(withResponses(triedBefore, [{ ...delivery, status: 'delivered' }]), { ...delivering, status: 'delivered' });
  t.same(interruptedRun(triedBefore, { ...delivery, status: 'waitingToRetry' }, 'rerun'), triedBefore);
  t.end();
});

t.test('DUR-1 · CLI-5 · a run stands as running only while its chart has the attempt that the disk reports', (t) => {
  const waits = { ...run, status: 'queued', cutOffs: 1, reason: 'cut off in attempt 1; waits to be taken up again' };
  const rows: readonly (readonly [string, RunRecord, RunRecord | undefined, object])[] = [
    ['no chart has taken it up', run, undefined, waits],
    ['its chart waits for a place', run, { ...run, status: 'queued' }, waits],
    ['its next attempt is not on disk yet', run, { ...run, attempt: 2 }, waits],
    ['the agent has the prompt', run, run, run],
    ['its response is being written down', run, { ...run, status: 'delivering', response: 'x' }, run],
    [
      'it is closed, not yet on disk',
      run,
      { ...run, status: 'interrupted', reason: 'why' },
      { ...run, status: 'interrupted', reason: 'why' },
    ],
    ['it waits for the first time', { ...run, status: 'queued' }, undefined, { ...run, status: 'queued' }],
    ['it is over', { ...run, status: 'delivered' }, undefined, { ...run, status: 'delivered' }],
  ];
  for (const [when, record, living, expected] of rows) t.same(runAsSeen(record, living), expected, when);
  t.end();
});

t.test('DUR-1 · DLV-4 · DIS-2 · a sending that was cut off goes again only while the platform would know it', (t) => {
  const sending: DeliveryRecord = { ...delivery, status: 'sending', startedAtMs: 5_000 };
  const waited = { answerByMs: 9_000 };
  const rows: readonly (readonly [string, DeliveryRecord, number, object])[] = [
    ['over', { ...delivery, status: 'delivered' }, 0, {}],
    ['not begun', delivery, 0, {}],
    ['between two tries', { ...delivery, status: 'waitingToRetry', dueAtMs: 9 }, 0, {}],
    ['known for longer', sending, 5_001, { status: 'queued', unsureSinceMs: 5_000 }],
    ['known no longer', sending, 5_000, { status: 'unknown', reason: 'cut off while sending, when the gateway ended' }],
    [
      'unsure since an earlier try',
      { ...sending, unsureSinceMs: 3_000 },
      7_000,
      { status: 'unknown', reason: 'cut off while sending, when the gateway ended' },
    ],
    ['its sender waited, and it was not sent', { ...delivery, ...waited }, 0, { answerByMs: undefined }],
    [
      'its sender waited, and it was to be sent again',
      { ...delivery, ...waited, status: 'waitingToRetry', attempts: 1, dueAtMs: 9_500 },
      0,
      { answerByMs: undefined },
    ],
    ['its sender waits, and another gateway left it', { ...delivery, answerByMs: 10_001 }, 0, {}],
    [
      'its sender waited, and it is known for longer',
      { ...sending, ...waited },
      5_001,
      { status: 'queued', unsureSinceMs: 5_000, answerByMs: undefined },
    ],
    [
      'its sender waited, and it may have gone',
      { ...sending, ...waited },
      5_000,
      { status: 'unknown', reason: 'cut off while sending, when the gateway ended' },
    ],
  ];
  for (const [when, record, deduplicatesForMs, expected] of rows)
    t.match(interruptedDelivery(record, { nowMs: 10_000, deduplicatesForMs }), { ...record, ...expected }, when);
  t.end();
});
