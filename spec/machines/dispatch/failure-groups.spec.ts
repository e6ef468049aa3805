import t from 'tap';
import { targetTitle } from '../../../machines/config/target-titles.ts';
import { targetChoices } from '../../../machines/config/targets.ts';
import {
  type Failure,
  failureKey,
  groupFailures,
  isOpenFailure,
  normaliseReason,
} from '../../../machines/dispatch/failure-groups.ts';

const failed = (over: Partial<Failure>): Failure => ({
  target: 'slack',
  status: 'deadLettered',
  reason: 'slack: the platform does not know the place to deliver to (HTTP 200 channel_not_found)',
  route: 'deploys',
  queuedAtMs: 1_000,
  ...over,
});

t.test('INS-4 · a reason loses what differs between two failures of one cause, and keeps its codes', (t) => {
  const rows: readonly (readonly [string, string])[] = [
    ['slack: the platform failed (HTTP 503)', 'slack: the platform failed (HTTP 503)'],
    ['the request took 1204 ms', 'the request took … ms'],
    ['no answer for 4f1c2b7a-8a1d-4f6e-9c55-0123456789ab', 'no answer for …'],
    ['request 9f86d081884c7d65 failed at 2026-11-25T03:07:00.120Z', 'request … failed at …'],
    ['no (piece 2 of 3; those before were delivered, the first as m1)', 'no'],
    [
      'the platform asks for fewer messages (HTTP 429); not before 61 s',
      'the platform asks for fewer messages (HTTP 429)',
    ],
    ['no; an earlier request got no answer and may have arrived', 'no'],
    ['chat 8812345678 is closed', 'chat … is closed'],
    ['facade refused port 8644', 'facade refused port 8644'],
  ];
  for (const [reason, expected] of rows) t.equal(normaliseReason(reason), expected);
  t.end();
});

t.test('INS-4 · an alias and its platform are one target, and an unsure outcome is a group of its own', (t) => {
  t.equal(
    failureKey(failed({ target: 'team_chat_a', reason: 'team_chat_a: no (HTTP 400)' })),
    failureKey(failed({ reason: 'slack: no (HTTP 400)' })),
  );
  t.not(failureKey(failed({})), failureKey(failed({ status: 'unknown' })));
  t.not(failureKey(failed({})), failureKey(failed({ target: 'discord' })));
  t.end();
});

t.test('INS-4 · groups are sorted by size, with first and last time, routes, title and advice', (t) => {
  const groups = groupFailures([
    failed({ target: 'telegram', reason: 'telegram: api.telegram.org was not reached: timeout', endedAtMs: 9_000 }),
    failed({ endedAtMs: 5_000 }),
    failed({ endedAtMs: 3_000, route: 'builds' }),
    { target: 'sms', status: 'unknown', route: 'deploys', queuedAtMs: 10_000 },
  ]);

  t.match(groups, [
    {
      target: 'slack',
      title: 'Slack does not know the place to deliver to (HTTP 200 channel_not_found)',
      advice: 'Invite the bot there, or change chat_id of the route, then retry.',
      helps: 'afterFix',
      count: 2,
      firstMs: 3_000,
      lastMs: 5_000,
      routes: ['builds', 'deploys'],
    },
    { title: 'SMS: the reason is not known', helps: 'unsure', count: 1 },
    { title: 'Telegram: api.telegram.org was not reached: timeout', helps: 'now', count: 1 },
  ]);
  t.end();
});

t.test('INS-4 · only deliveries that wait for a person are open failures', (t) => {
  const statuses = [
    'queued',
    'sending',
    'waitingToRetry',
    'delivered',
    'failed',
    'deadLettered',
    'unknown',
    'dropped',
  ] as const;
  t.same(
    statuses.filter((status) => isOpenFailure({ status })),
    ['deadLettered', 'unknown'],
  );
  t.end();
});

t.test('DLV-1 · every target has a name as people write it', (t) => {
  for (const name of targetChoices) if (name !== 'ntfy') t.not(targetTitle(name), name, name);
  t.equal(targetTitle('team_chat_a'), 'Slack');
  t.equal(targetTitle('mine'), 'mine');
  t.end();
});
