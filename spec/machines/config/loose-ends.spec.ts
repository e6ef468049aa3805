import t from 'tap';
import type { JsonObject } from '../../../machines/base/json.ts';
import { defaultProfile } from '../../../machines/base/names.ts';
import { type FileStanding, looseEnds, type RouteWorld } from '../../../machines/config/loose-ends.ts';
import { readRoute } from '../../../machines/config/read-route.ts';

const platform = { timeoutMs: 1, options: {} };
const standing = (name: string): FileStanding => (name === 'there' || name === 'outside' ? name : 'missing');
const world: RouteWorld = {
  platforms: {
    telegram: { ...platform, enabled: true },
    sms: { ...platform, enabled: false },
    slack: { ...platform, enabled: false, name: 'team_chat_a' },
  },
  fullServersOf: (toolsets) => toolsets.filter((name) => name === 'git'),
  toolsetNames: ['agent-webhook', 'mcp-git'],
  unknownToolsets: (toolsets) => toolsets.filter((name) => name === 'agnet-webhook' || name === 'mcp-nope'),
  restrictedToolsets: (toolsets) => toolsets.filter((name) => name === 'terminal'),
  hasJob: (ref) => ref === '7',
  script: standing,
  hasSkill: (name) => name === 'there',
  list: standing,
  hasProgram: (command) => command === 'gh',
  listsOf: (filters) =>
    filters.flatMap(({ in_file }, at) =>
      typeof in_file === 'string' ? [{ path: [at, 'in_file'], file: in_file }] : [],
    ),
};

function loose(
  written: JsonObject,
  more: Partial<RouteWorld> = {},
  [name, source]: readonly [string, 'static' | 'dynamic'] = ['r', 'static'],
): string[] {
  const read = readRoute(
    name,
    { secret: 'a-secret', ...written },
    { source, profile: defaultProfile, host: 'localhost', checkFilters: () => [] },
  );
  if (!read.ok) throw new Error(JSON.stringify(read.findings));
  const found = looseEnds(read.value, { ...world, ...more });
  for (const { message } of found) if (/equals: \*/.test(message)) throw new Error(message);
  return found.map(({ path, code }) => `${path.join('.')} ${code}`);
}

t.test('CFG-2 · RTE-1 · DLV-2 · each thing that a route names and that is not there is one finding', (t) => {
  const list = (in_file: string): JsonObject => ({ field: 'a', in_file });
  const rows: readonly (readonly [JsonObject, readonly string[]])[] = [
    [{}, []],
    [{ cron_job: 7, deliver: 'email' }, []],
    [{ cron_job: 8 }, ['cron_job cron-job-missing']],
    [{ toolsets: ['agent-webhook', 'mcp-git'] }, []],
    [{ events: ['push', 'pull_request.opened', 'order.paid'] }, ['events.1 event-action']],
    [{ events: ['pull_request.*'] }, ['events.0 event-action']],
    [{ events: ['pull_request.opened'], signature: { header: 'X-Sig' } }, []],
    [{ source: 'gitlab', events: ['Push Hook', 'merge_request.open'] }, ['events.1 event-action']],
    [{ source: 'slack', events: ['app_mention', 'message.im', '/deploy.eu'] }, ['events.1 event-action']],
    [{ source: 'sentry', events: ['issue.created'] }, []],
    [{ toolsets: ['web', 'terminal'] }, ['toolsets.1 toolset-restricted']],
    [{ toolsets: ['agnet-webhook', 'mcp-nope'] }, ['toolsets.0 toolset-unknown', 'toolsets.1 toolset-unknown']],
    [{ script: 'there' }, []],
    [{ script: 'gone' }, ['script script-missing']],
    [{ script: 'outside' }, ['script script-missing']],
    [{ skills: ['gone', 'there'] }, []],
    [{ skills: ['gone'] }, ['skills skill-missing']],
    [{ filters: [{ field: 'labels.0.name', exists: true }], coalesce: { key: '{a.b}' } }, []],
    [{ filters: [{ not: { any: [{ field: 'l[0].n', equals: 1 }] } }] }, ['filters.0.not.any.0.field field-syntax']],
    [{ filters: [{ field: '$.a', equals: 1 }] }, ['filters.0.field field-syntax']],
    [{ filters: [{ field: 'labels.*.name', equals: 1 }] }, ['filters.0.field field-syntax']],
    [{ filters: [{ field: 'labels[].name', equals: 1 }] }, ['filters.0.field field-syntax']],
    [{ filters: [{ field: 'headers.X-*', exists: true }] }, []],
    [{ coalesce: { key: 'pulls[0].id' } }, ['coalesce.key field-syntax']],
    [{ delivery_id: { field: '{order.id}' } }, ['delivery_id.field field-syntax']],
    [{ delivery_id: { field: 'orders.0.id' } }, []],
    [{ concurrency: 0 }, []],
    [{ concurrency: 0, deliver: 'telegram', deliver_only: true }, ['concurrency concurrency-unused']],
    [{ held: true }, []],
    [{ held: true, deliver: 'telegram', deliver_only: true }, ['held concurrency-unused']],
    [{ held: false, deliver: 'telegram', deliver_only: true }, []],
    [{ coalesce: { key: 'a', window_seconds: 300 } }, []],
    [{ coalesce: { key: 'a', window_seconds: 600 } }, ['coalesce coalesce-window']],
    [{ deliver: [{ to: 'log', when: [{ field: '{a}', equals: 1 }] }] }, ['deliver.0.when.0.field field-syntax']],
    [
      { filters: [list('there'), list('gone'), list('outside')] },
      ['filters.1.in_file list-missing', 'filters.2.in_file list-missing'],
    ],
    [{ deliver: 'telegram' }, []],
    [{ deliver: 'sms' }, ['deliver target-disabled']],
    [{ deliver: 'email', script: 'gone' }, ['script script-missing', 'deliver target-disabled']],
    [{ deliver: 'github_comment', deliver_extra: { repo: '{r}', pr_number: 1 } }, []],
    [{ deliver: 'github_comment', deliver_extra: { repo: '{r}', pr_number: '' } }, ['deliver deliver-extra-missing']],
    [{ on_failure: 'telegram' }, []],
    [{ on_failure: 'sms' }, ['on_failure target-disabled']],
    [{ deliver: 'sms', on_failure: 'sms' }, ['deliver target-disabled', 'on_failure target-disabled']],
    [{ on_failure: 'github_comment' }, ['on_failure deliver-extra-missing']],
    [{ on_failure: 'github_comment', on_failure_extra: { repo: 'a/b', pr_number: 1 } }, []],
    [{ on_failure_extra: { chat_id: 7 } }, ['on_failure_extra on-failure-unused']],
    [{ deliver: 'telegram', deliver_extra: { chat_id: 7, message_thread_id: 8 } }, []],
    [{ deliver: 'telegram', deliver_extra: { chat_id: 'ops' } }, ['deliver_extra.chat_id deliver-place']],
    [{ deliver: 'telegram', deliver_extra: { chat_id: '{chat.id}' } }, []],
    [{ deliver: [{ to: 'telegram', extra: { chat_id: 'ops' } }] }, ['deliver.0.extra.chat_id deliver-place']],
    [{ deliver: 'telegram', deliver_extra: { to: 7 } }, ['deliver_extra.to deliver-extra-unknown']],
    [{ deliver: [{ to: 'telegram', extra: { chat: 7 } }] }, ['deliver.0.extra.chat deliver-extra-unknown']],
    [
      { deliver: 'log', on_failure: 'telegram', on_failure_extra: { to: 'a@b.c' } },
      ['on_failure_extra.to deliver-extra-unknown'],
    ],
    [{ cron_job: 7, deliver: 'email', deliver_extra: { to: 'a@b.c' } }, []],
    [{ on_failure: 'telegram', deliver: 'telegram', deliver_only: true }, ['on_failure on-failure-unused']],
    [{ on_failure: 'telegram', cron_job: 7 }, ['on_failure on-failure-unused']],
    [{ toolsets: ['git'] }, []],
    [{ toolsets: ['web'], secret: 'INSECURE_NO_AUTH' }, []],
    [{ toolsets: ['git'], secret: 'INSECURE_NO_AUTH' }, ['toolsets tools-unsigned']],
    [{ enabled: false, deliver: 'sms', script: 'gone', cron_job: 8 }, []],
  ];
  for (const [written, expected] of rows) t.same(loose(written), expected, JSON.stringify(written));
  const github = { deliver: 'github_comment', deliver_extra: { repo: '{r}', pr_number: 1 } };
  const other = { ...platform, enabled: true, options: { command: '/opt/gone' } };
  t.same(loose(github, { platforms: { github_comment: other } }), ['deliver target-program-missing']);
  t.same(loose({ deliver: 'github_comment' }, { hasProgram: () => false }), [
    'deliver target-program-missing',
    'deliver deliver-extra-missing',
  ]);
  const off = { platforms: { github_comment: { ...platform, enabled: false } } };
  t.same(loose(github, off), ['deliver target-disabled'], 'GitHub needs no entry, and may be switched off');
  t.end();
});

t.test('CFG-7 · TPL-1 · a name that no subscription may have and a brace that nothing closes are findings', (t) => {
  t.same(loose({}, {}, ['Stripe', 'static']), [' route-name']);
  t.same(loose({}, {}, ['Stripe', 'dynamic']), [], 'a subscription of that name is refused elsewhere');
  const rows: readonly (readonly [string, boolean])[] = [
    ['x {foo', true],
    ['{a.b {c}', true],
    ['{a} and {b', true],
    ['{a} {b}', false],
    ['{"json": 1', false],
    ['{ open', false],
    ['{"a": {b}}', false],
    ['{a b}', false],
  ];
  for (const [text, isOpen] of rows) {
    t.same(loose({ prompt: text }), isOpen ? ['prompt template-open'] : [], text);
    const notice = { on_failure: 'log', on_failure_extra: { chat_id: text } };
    t.same(loose(notice), isOpen ? ['on_failure_extra.chat_id template-open'] : [], text);
    const extra = { deliver_extra: { blocks: [{ text }] } };
    t.same(loose(extra), isOpen ? ['deliver_extra.blocks.0.text template-open'] : [], text);
  }
  for (const [text, found] of [
    ['Mail {event-data.event}', ['prompt template-hyphen']],
    ['{a-b', ['prompt template-open']],
    ['{labels[0].name} {a}', ['prompt template-index']],
    ['{{labels.0.name}} {a}', ['prompt template-double']],
    ['{{ labels.0.name }} {a}', ['prompt template-double']],
    ['{"a": {"b": {}}} {{', []],
    ['{"a": [0]}', []],
    ['{a.b} - {c}', []],
    ['{-}', []],
    ['{"a-b": 1}', []],
  ] as const)
    t.same(loose({ prompt: text }), found, text);
  t.end();
});

t.test('CFG-2 · a route whose own comment or message would start it again is a finding', (t) => {
  const github: JsonObject = { deliver: 'github_comment', deliver_extra: { repo: 'a/b', pr_number: '1' } };
  const echo = ['deliver deliver-echo'];
  const channel = { field: 'event.channel', equals: 'C0000000001' };
  const message: JsonObject = { deliver: 'slack', source: 'slack', events: ['message'], filters: [channel] };
  const rows: readonly (readonly [JsonObject, readonly string[]])[] = [
    [{ ...github, events: ['pull_request'] }, []],
    [{ ...github, events: ['pull_request', 'issue_comment'] }, echo],
    [{ ...github, source: 'github' }, echo],
    [{ ...github, source: 'gitea' }, []],
    [{ ...github, source: 'github', filters: [{ field: 'action', equals: 'opened' }] }, []],
    [{ ...github, events: ['issue_comment'], filters: [{ field: 'action', equals: 'created' }] }, echo],
    [{ ...github, events: ['issue_comment'], filters: [{ field: 'sender.login', not_equals: 'bot' }] }, []],
    [{ ...github, events: ['issue_comment'], filters: [{ not: { field: 'comment.body', regex: '^/no' } }] }, []],
    [{ ...github, events: ['issue_comment'], script: 'there' }, []],
    [{ deliver: 'slack', source: 'slack', events: ['app_mention'] }, []],
    [{ deliver: 'team_chat_a', source: 'slack', events: ['message'] }, echo],
    // Messages of another platform, and those of one channel that are reported in another.
    [{ deliver: 'slack', source: 'telegram', events: ['message'] }, []],
    [{ ...github, source: 'gitea', events: ['issue_comment'] }, []],
    [{ ...message, deliver_extra: { chat_id: 'C0000000002' } }, []],
    [message, []],
    [{ ...message, deliver_extra: { chat_id: 'C0000000001' } }, echo],
    [{ ...message, deliver_extra: { chat_id: '{event.channel}' } }, echo],
    [{ ...github, events: ['issues', 'issue_comment'], filters: [{ field: 'action', equals: 'opened' }] }, []],
    [
      { ...github, events: ['issues', 'issue_comment'], filters: [{ field: 'action', in: ['opened', 'created'] }] },
      echo,
    ],
    [{ deliver: [{ to: 'log' }, { to: 'gitlab_comment' }], events: ['note'] }, ['deliver.1.to deliver-echo']],
    [{ deliver: [{ to: 'gitlab_comment', when: [{ field: 'user.id', equals: 1 }] }], events: ['Note Hook'] }, []],
  ];
  for (const [written, expected] of rows) {
    t.same(
      loose(written).filter((found) => found.endsWith('deliver-echo')),
      expected,
      JSON.stringify(written),
    );
  }
  t.end();
});

t.test(
  'SRC-1 · SUB-1 · what the file of a subscription cannot show is a finding of it: its secret, its events',
  (t) => {
    const dynamic = (written: JsonObject): string[] => loose(written, {}, ['r', 'dynamic']);
    const [bot, right] = ['xoxb-9421673058-b7Qm2Zt8', '8f742231b10e8a49abcd9912346785a5'];
    t.same(dynamic({ source: 'slack', secret: bot }), ['secret secret-strange']);
    t.same(dynamic({ source: 'slack', secret: [right, bot] }), ['secret secret-strange']);
    t.same(dynamic({ source: 'slack', secret: right }), []);
    t.same(loose({ source: 'slack', secret: bot }), [], 'of a route of config.yaml it is one of its line');
    const shop = { source: 'shopify', secret: right };
    t.same(dynamic(shop), ['source events-unlisted']);
    t.same(dynamic({ ...shop, source: 'woocommerce' }), ['source events-unlisted']);
    t.same(dynamic({ ...shop, events: ['orders/paid'] }), []);
    t.same(loose(shop), [], 'likewise');
    t.end();
  },
);
