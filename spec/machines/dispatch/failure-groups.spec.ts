import t from 'tap';
import { catalogue } from '../../../cli/catalogue.ts';
import { configSchema } from '../../../machines/config/schema.ts';
import { targetChoices, targetTitle } from '../../../machines/config/targets.ts';
import {
  type Failure,
  failureKey,
  groupFailures,
  isOpenFailure,
  normaliseReason,
  type RetryHelps,
} from '../../../machines/dispatch/failure-groups.ts';
import { refusalWords } from '../../../machines/dispatch/send-outcome.ts';

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
    [
      'the platform is busy (HTTP 503); not before 90000 s, and a delivery is retried for a day',
      'the platform is busy (HTTP 503)',
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
      advice: 'Invite the bot there and retry; or correct `deliver_extra` of the route and replay the events.',
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

/** Reasons as the targets give them, whether a retry helps, and what to do. */
const advised: readonly (readonly [target: string, reason: string, helps: RetryHelps, advice: string])[] = [
  [
    'slack',
    `slack: ${refusalWords.auth} (HTTP 200 invalid_auth)`,
    'afterFix',
    'Correct the credentials of `platforms.slack`, then retry.',
  ],
  [
    'team_chat_a',
    `team_chat_a: ${refusalWords.auth} (HTTP 200 invalid_auth)`,
    'afterFix',
    'Correct the credentials of `platforms.slack`, then retry.',
  ],
  [
    'github_comment',
    "github_comment: the client is not logged in; run `gh auth login` as the gateway's user: HTTP 401",
    'afterFix',
    'Log in with `gh auth login` as the gateway’s user, then retry.',
  ],
  [
    'github_comment',
    'github_comment: "gh" was not found; install it on the gateway\'s host and log in with `gh auth login`',
    'afterFix',
    'Install the program on the gateway’s host, then retry.',
  ],
  [
    'slack',
    'target "slack" is not enabled; set platforms.slack.enabled: true and its credentials',
    'afterFix',
    'Correct `platforms.slack` in config.yaml until Targets shows it connected, then retry.',
  ],
  [
    'slack',
    'target "slack" is not connected: no token',
    'afterFix',
    'Correct `platforms.slack` in config.yaml until Targets shows it connected, then retry.',
  ],
  [
    'matrix',
    'matrix: the answer is a redirect (HTTP 302); check api_base',
    'afterFix',
    'Correct `platforms.matrix` in config.yaml until Targets shows it connected, then retry.',
  ],
  [
    'http',
    'http: the answer is a redirect (HTTP 302); check url',
    'afterFix',
    'Correct `platforms.http` in config.yaml until Targets shows it connected, then retry.',
  ],
  [
    'slakc',
    'target "slakc" is not known; did you mean slack?',
    'never',
    'Correct `deliver` of the route, then replay the events.',
  ],
  ['slack', 'profile "work" is not configured any more', 'afterFix', 'Add the profile again and retry, or drop them.'],
  [
    'slack',
    'slack: there is nowhere to deliver to; set chat_id in deliver_extra, or platforms.slack.home_channel',
    'afterFix',
    'Set `home_channel` of `platforms.slack` and retry; or set `deliver_extra` of the route and replay the events.',
  ],
  [
    'telegram',
    'telegram: "x" is no place to deliver to; chat_id is a number or @name',
    'never',
    'Correct `deliver_extra` of the route, then replay the events.',
  ],
  [
    'email',
    'email: the place to deliver to is not filled in: "{user.name}@b.c"; check deliver_extra, or platforms.email.home_channel',
    'never',
    'Correct `deliver_extra` of the route, then replay the events.',
  ],
  [
    'http',
    'http: the receiver asks to wait (HTTP 500)',
    'now',
    'Retry later; `messages_per_minute` of `platforms.http` slows the gateway down.',
  ],
  [
    'github_comment',
    'github_comment: deliver_extra.repo must be owner/name; it is null',
    'never',
    'Correct `deliver_extra` of the route, then replay the events.',
  ],
  ['discord', `discord: ${refusalWords.forbidden} (HTTP 403)`, 'afterFix', 'Let the account write there, then retry.'],
  [
    'discord',
    `discord: ${refusalWords.tooLong} (HTTP 400)`,
    'never',
    'Ask for less text in `prompt` of the route, then replay the events.',
  ],
  [
    'telegram',
    'telegram: a text of 90000 characters is too long; 10 messages of 4096 are sent at most',
    'never',
    'Ask for less text in `prompt` of the route, then replay the events.',
  ],
  [
    'slack',
    `slack: ${refusalWords.permanent} (HTTP 200 invalid_blocks)`,
    'never',
    'Correct what the platform names in `prompt` or `deliver_extra` of the route, then replay the events.',
  ],
  [
    'slack',
    'slack: the platform asks for fewer messages (HTTP 429); not before 61 s',
    'now',
    'Retry later; `messages_per_minute` of `platforms.slack` slows the gateway down.',
  ],
  ['slack', 'slack: the platform failed (HTTP 503)', 'now', 'Retry once the platform answers again.'],
  [
    'slack',
    'slack: slack.com was not reached: timeout',
    'now',
    'Check the network of the gateway with `agent doctor`, then retry.',
  ],
  ['slack', 'slack: stopped before it was sent', 'now', 'The gateway stopped before it was sent. Retry.'],
  [
    'weixin',
    'weixin: it answers a message alone; set context_token in deliver_extra',
    'afterFix',
    'Correct what the reason names, then retry.',
  ],
];

t.test('INS-4 · DLV-4 · the advice of a group names what a retry needs, or that only a replay can help', (t) => {
  for (const [target, reason, helps, advice] of advised) {
    t.match(groupFailures([failed({ target, reason })]), [{ helps, advice }], reason);
  }
  t.match(groupFailures([failed({ status: 'unknown' })]), [
    { helps: 'unsure', advice: 'The message may have arrived. Look for it there, then resolve it.' },
  ]);
  t.match(groupFailures([failed({})], 'target'), [{ advice: '' }]);
  t.end();
});

t.test('INS-4 · an advice names commands and keys that exist', (t) => {
  const paths = catalogue.map(({ path }) => path.join(' '));
  const words = advised.flatMap(([, , , advice]) => [...advice.matchAll(/`([^`]+)`/g)].map(([, word = '']) => word));
  for (const word of words.filter((one) => one.startsWith('agent '))) t.ok(paths.includes(word.slice(6)), word);
  const keys = JSON.stringify(configSchema());
  for (const word of words.filter((one) => /^[a-z_]+$/.test(one))) t.ok(keys.includes(`"${word}":`), word);
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
