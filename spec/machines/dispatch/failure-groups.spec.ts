import t from 'tap';
import { catalogue } from '../../../cli/catalogue.ts';
import { configSchema } from '../../../machines/config/schema.ts';
import { targetChoices, targetTitle } from '../../../machines/config/targets.ts';
import {
  adviceOn,
  type Failure,
  failureKey,
  groupFailures,
  isOpenFailure,
  normaliseReason,
  type RetryHelps,
} from '../../../machines/dispatch/failure-groups.ts';
import { refusalWords } from '../../../machines/dispatch/send-outcome.ts';
import { sourceFiles } from '../../house/sources.ts';

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
  const byAlias = failed({ reason: `team_chat_a: ${refusalWords.auth} (HTTP 401)` });
  t.match(
    adviceOn(byAlias).advice,
    'Correct the credentials of',
    'the configuration names the alias, the route does not',
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

/** What to do, whether a retry helps, and the reasons as the targets give them, each after its target. */
const advised: readonly (readonly [advice: string, helps: RetryHelps, ...reasons: string[]])[] = [
  [
    'Correct the credentials of `platforms.slack`, then retry.',
    'afterFix',
    `slack: ${refusalWords.auth} (HTTP 200 invalid_auth)`,
    `team_chat_a: ${refusalWords.auth} (HTTP 200 invalid_auth)`,
  ],
  [
    'Log in with `gh auth login` as the gateway’s user, then retry.',
    'afterFix',
    "github_comment: the client is not logged in; run `gh auth login` as the gateway's user: HTTP 401",
    "github_comment: the client is not logged in; run `gh auth login` as the gateway's user",
  ],
  [
    'Install the program on the gateway’s host, then retry.',
    'afterFix',
    'github_comment: "gh" was not found in the gateway\'s PATH; install it there and log in with `gh auth login`',
  ],
  [
    'Correct `platforms.slack` in config.yaml until Targets shows it connected, then retry.',
    'afterFix',
    'slack: target "slack" is not enabled; set platforms.slack.enabled: true and its credentials',
    'slack: target "slack" cannot be used: it has no token',
    'slack: target "slack" is not connected: no token',
    'slack: the answer is a redirect (HTTP 302); check api_base',
    'slack: the answer is not in the platform’s form (HTTP 200); check api_base',
    'slack: the answer is that of a proxy, which wants a login (HTTP 407); check api_base',
    'slack: the daemon does not take this host name (HTTP 404); check api_base',
    'slack: no request can be made of these settings; check api_base and the credentials',
    'slack: no HTTP client speaks to port 6000; check api_base',
  ],
  [
    'Correct `deliver` of the route, then replay the events.',
    'never',
    'slakc: target "slakc" is not known; did you mean slack?',
  ],
  ['Add the profile again and retry, or drop them.', 'afterFix', 'slack: profile "work" is not configured any more'],
  [
    'Set `home_channel` of `platforms.slack` and retry; or set `deliver_extra` of the route and replay the events.',
    'afterFix',
    'slack: there is nowhere to deliver to; set chat_id in deliver_extra, or platforms.slack.home_channel',
  ],
  [
    'Invite the bot there and retry; or correct `deliver_extra` of the route and replay the events.',
    'afterFix',
    `slack: ${refusalWords.notFound} (HTTP 200 channel_not_found)`,
  ],
  [
    'Correct `deliver_extra` of the route, then replay the events.',
    'never',
    'telegram: "x" is no place to deliver to; chat_id is a number or @name',
    'email: the place to deliver to is not filled in: "{user.name}@b.c"; check deliver_extra, or platforms.email.home_channel',
    'feishu: these credentials lead to one group only; leave deliver_extra.chat_id out',
    'github_comment: deliver_extra.repo must be owner/name; it is null',
    'github_comment: deliver_extra.pr_number must be a positive whole number; it is "x"',
    'github_comment: the client exited with 1: no PullRequest; for an issue, deliver_extra.kind must be "issue"',
    'homeassistant: Home Assistant has no service notify.x, and no such entity (HTTP 400)',
    'homeassistant: there is no such notify service, or it takes no such message (HTTP 400)',
    'weixin: the platform lets a bot only answer: deliver_extra.context_token must hold the context_token of the user’s last message',
  ],
  ['Let the account write there, then retry.', 'afterFix', `discord: ${refusalWords.forbidden} (HTTP 403)`],
  [
    'Ask for less text in `prompt` of the route, then replay the events.',
    'never',
    `discord: ${refusalWords.tooLong} (HTTP 400)`,
    'telegram: a text of 90000 characters is too long; 10 messages of 4096 are sent at most',
  ],
  [
    'Correct what the platform names in `prompt` or `deliver_extra` of the route, then replay the events.',
    'never',
    `slack: ${refusalWords.permanent} (HTTP 200 invalid_blocks)`,
    // The platform's own words decide nothing.
    `slack: ${refusalWords.permanent} (HTTP 400 posting by apps is not enabled)`,
  ],
  [
    'Retry later; `messages_per_minute` of `platforms.slack` slows the gateway down.',
    'now',
    'slack: the platform asks for fewer messages (HTTP 429); not before 61 s',
    'slack: the platform is busy (HTTP 503)',
    'slack: the platform asks for a pause',
    'slack: the platform asks for a pause in the middle of a text',
  ],
  [
    'Retry once the platform answers again.',
    'now',
    'slack: the platform failed (HTTP 503)',
    'slack: the platform gave no access token',
    'slack: the request was not taken (HTTP 408)',
    'http: the receiver did not accept the report (HTTP 500)',
  ],
  [
    'Check the network of the gateway with `agent doctor`, then retry.',
    'now',
    'slack: slack.com was not reached: timeout',
    'email: mail.example was not reached, or broke off before the text was sent (ECONNRESET)',
    'github_comment: the client did not reach its host',
    'github_comment: the client did not reach its host: timeout',
  ],
  [
    'The gateway stopped before it was sent. Retry.',
    'now',
    'slack: stopped before it was sent',
    'slack: stopped before the request was sent',
    'slack: stopped before an answer came',
    'slack: stopped before the next piece was sent',
    'email: stopped before the mail was sent',
    'github_comment: "gh" was stopped before it answered',
  ],
  [
    'Correct what the reason names, then retry.',
    'afterFix',
    'github_comment: "gh" could not be started: EACCES',
    'slack: the platform took too long behind its proxy (HTTP 504)',
  ],
];
const reasons = advised.flatMap(([, , ...those]) => those);

t.test('INS-4 · DLV-4 · the advice of a group names what a retry needs, or that only a replay can help', (t) => {
  for (const [advice, helps, ...those] of advised)
    for (const reason of those)
      t.match(groupFailures([failed({ target: reason.split(':')[0] ?? '', reason })]), [{ helps, advice }], reason);
  const addressed = failed({ target: 'http', reason: 'http: the answer is a redirect (HTTP 302); check url' });
  t.match(groupFailures([addressed]), [{ advice: /^Correct `platforms.http`/ }]);
  t.match(groupFailures([failed({ status: 'unknown' })]), [
    { helps: 'unsure', advice: 'The message may have arrived. Look for it there, then resolve it.' },
  ]);
  t.match(groupFailures([failed({})], 'target'), [{ advice: '' }]);
  t.end();
});

const plain = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
/** The texts of the files that write reasons; in the pattern, anything may be where a value is put in. */
const written = sourceFiles(['actors/dispatch', 'runtime/dispatch'])
  .filter(({ path }) => /^actors|\/(?:platforms|target-queue)\.ts$/.test(path))
  .flatMap(
    ({ text }) =>
      text.replace(/^\s*(?:\/\*\*?|\*|\/\/).*$/gm, '').match(/'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`/g) ?? [],
  )
  .map((literal) => literal.slice(1, -1).replace(/\\(.)/g, '$1'))
  .filter((text) => / \w+ /.test(text))
  .map((text) => ({
    text,
    pattern: new RegExp(
      text
        .split(/\$\{(?:[^{}]|\{[^}]*\})*\}/)
        .map(plain)
        .join('.*'),
    ),
  }));

t.test('INS-4 · each advice is found by a text that is written, and each such text is in the table', (t) => {
  for (const reason of reasons.filter((one) => !Object.values(refusalWords).some((words) => one.includes(words))))
    t.ok(
      written.some(({ pattern }) => pattern.test(reason)),
      `nothing writes: ${reason}`,
    );
  const adviceFor = (reason: string) => adviceOn({ target: 'slack', status: 'deadLettered', reason }).advice;
  for (const { text, pattern } of written.filter(({ text }) => adviceFor(text) !== adviceFor('another')))
    t.ok(
      reasons.some((reason) => pattern.test(reason)),
      `the table lacks: ${text}`,
    );
  t.end();
});

t.test('INS-4 · an advice names commands and keys that exist', (t) => {
  const paths = catalogue.map(({ path }) => path.join(' '));
  const words = advised.flatMap(([advice]) => [...advice.matchAll(/`([^`]+)`/g)].map(([, word = '']) => word));
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
