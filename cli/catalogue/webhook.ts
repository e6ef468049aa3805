/**
 * The commands of routes and of the events that they receive.
 * @see CLI-1 and CLI-5 in docs/specification.md
 */

import { historyStatuses, replayedStatuses } from '../../machines/base/status.ts';
import {
  choices,
  deliveryFlags,
  type Flag,
  json,
  ofProfile,
  profile,
  type Row,
  type Rows,
  route,
  sameAs,
  since,
  status,
} from './row.ts';

const search: Flag = {
  name: 'search',
  value: 'text',
  help: 'Only events with these words, payloads included, or filters such as status:failed.',
  form: 'text',
};
const eventFlags: readonly Flag[] = [search, ...choices, status(historyStatuses), json];

/** What a subscription accepts, and how its events become a prompt. */
const workFlags: readonly Flag[] = [
  {
    name: 'source',
    value: 'provider',
    help: 'The provider that sends, such as stripe; docs/sources.md lists them.',
    names: 'source',
  },
  {
    name: 'signature',
    value: 'json',
    help: 'The scheme of a sender without a `--source`, as `signature:` of a route; `webhook doctor` proposes it.',
    form: 'text',
  },
  {
    name: 'verify-token',
    value: 'text',
    help: 'The text that you type at Meta beside the address, and that Meta repeats; `subscribe` makes one unless given.',
    form: 'text',
  },
  { name: 'events', value: 'list', help: 'Event types, separated by commas; all unless given.', form: 'text' },
  { name: 'prompt', value: 'template', help: 'Template of the prompt.' },
  {
    name: 'filter',
    value: 'condition',
    many: true,
    help: 'Only events that match: field=value, or a condition as JSON; may be repeated.',
    form: 'text',
  },
  { name: 'script', value: 'file', help: 'Filter or transform script in the scripts folder.', form: 'text' },
  {
    name: 'coalesce',
    value: 'key',
    help: 'Combine events with the same value of this field or template into one run.',
    form: 'text',
  },
  { name: 'coalesce-window', value: 'seconds', help: 'How long to wait for the next one (30).', form: 'count' },
  { name: 'coalesce-batch', help: 'Put all of them into the prompt, not the newest alone.' },
];

/** Where its results go. */
const resultFlags: readonly Flag[] = [
  ...deliveryFlags,
  { name: 'deliver-only', help: 'Deliver the prompt itself; no agent runs.' },
  { name: 'cron-job', value: 'job', help: 'Cron job to fire per event.', names: 'job' },
  { name: 'description', value: 'text', help: 'What it is for.' },
];

const webhook = () => import('../commands/webhook.ts');
const webhookShow = () => import('../commands/webhook-show.ts');
const events = () => import('../commands/events.ts');

const listEvents: Row = {
  help: 'List received events, each with its outcome.',
  flags: eventFlags,
  about: [
    '`--search` looks through all events of the history for words and "phrases in quotes": in ids, event types, routes, reasons and payloads. Filters narrow it: `route:`, `status:` (open, delivered, failed, refused, unconfirmed, ignored, duplicate, or finer ones such as retrying), `event:`, `id:`, `source:`, `target:`, `profile:`, `node:` (the gateway that took it) and `is:replay`.',
    'Also by its earlier name, `agent webhook deliveries [id]`.',
  ],
  examples: [
    ['events --search checkout_4411', 'those whose payload has this text'],
    ["events --search 'status:failed target:slack' --since 7d", 'failed deliveries of a week'],
    ['events', 'the newest fifty'],
    ['events --status failed --route ci', 'those that failed'],
    ['events --since 2h --follow', 'those of the last two hours, then each new one'],
  ],
  needsGateway: true,
  see: ['events show', 'events replay', 'runs', 'docs/durability.md'],
  load: async () => (await events()).listEvents,
};

const replay: Row = {
  help: 'Process an event once more, as a new one.',
  flags: [
    { name: 'edit', help: 'Edit the payload first, in VISUAL or EDITOR.' },
    { name: 'payload', value: 'file', help: 'Use the payload in this file.', form: 'text' },
    { name: 'event', value: 'type', help: 'Use this event type.', form: 'text' },
    { name: 'dry', help: 'Deliver nothing; print the response.' },
    { name: 'all', help: 'Every event with this status, the oldest first.' },
    status(replayedStatuses),
    { ...since, help: 'With --all, only what came since then: 2h, 3d or an ISO 8601 time.' },
    route,
    ofProfile,
    json,
  ],
  about: [
    'Headers that carry credentials are never kept, so a replay goes through without a signature. Every later rule of the route applies, also to an edited payload. Also by its earlier name, `agent webhook replay`.',
    'With `--dry` the agent runs with its tools as usual, but its response is delivered to no target.',
    'With `--all` an event that was replayed before is left out; its newest replay is chosen if that ended alike. So is one whose response is there: `agent deliveries retry --all` sends it without another run.',
  ],
  examples: [
    ['events replay 8f2c-1', 'process it once more'],
    ['events replay 8f2c-1 --edit --dry', 'edit the payload, and only see the response'],
    ['events replay latest --payload changed.json', 'with the payload of a file'],
    ['events replay --all --status failed --since 2h', 'after an outage, all whose run failed'],
    ['events replay --all --status ignored --route ci --since 1d', 'after a filter was corrected'],
  ],
  needsGateway: true,
  exits: {
    1: 'The answer was not 2xx, or the run of --dry failed; it is shown. Or the editor failed, or one of --all was not accepted.',
  },
  env: ['VISUAL', 'EDITOR'],
  see: ['events', 'deliveries retry'],
  load: async () => (await import('../commands/events-replay.ts')).replayEvent,
};

export const webhookRows: Rows = {
  'webhook subscribe <name>': {
    help: 'Create a dynamic subscription; prints its URL and secret, and how to try it.',
    flags: [
      { name: 'wait', help: 'Wait for the first event, and explain what is refused meanwhile.' },
      ...workFlags,
      {
        name: 'secret',
        value: 'secret',
        help: 'A secret that the sender has already; a fresh one unless given. `-` reads a line of the input.',
        form: 'text',
      },
      ...resultFlags,
      {
        name: 'route-profile',
        value: 'name',
        help: 'Profile that may run the route.',
        form: 'profile',
        names: 'profile',
      },
      { name: 'profile', value: 'name', help: 'The same.', form: 'profile' },
      { name: 'force', help: 'Replace a subscription of the same name; one that is held stays held.' },
      json,
    ],
    about: [
      'Makes a route with a fresh secret, which is shown once, and prints where to paste it and a curl command that sends a signed test event. Needs no gateway; a running one applies it with the next request.',
    ],
    examples: [
      [
        'webhook subscribe payments --source stripe --secret - --wait',
        'reads the secret, then waits for the first event',
      ],
      ['webhook subscribe ci --events build --prompt "Look at {build.url}"', 'an agent run per build'],
      [
        'webhook subscribe reviews --filter action=opened --coalesce pull_request.number',
        'one run per opened pull request',
      ],
      [
        "webhook subscribe comments --events pull_request --deliver github_comment --deliver-extra 'repo={repository.full_name}' --deliver-extra 'pr_number={number}'",
        'the response as a comment',
      ],
      ['webhook subscribe alerts --deliver telegram --deliver-chat-id 42 --deliver-only', 'the text itself, no run'],
    ],
    exits: { 1: 'The name is taken, or a rule of routes is broken.' },
    files: ['webhook_subscriptions.json'],
    see: ['webhook test', 'docs/subscriptions.md'],
    load: async () => (await webhook()).subscribeWebhook,
  },
  'webhook edit <name:subscription>': {
    help: 'Change keys of a subscription, such as its secret; the rest of it stays.',
    flags: [
      ...workFlags,
      {
        name: 'secret',
        value: 'secret',
        help: 'Another secret; `generate` makes one and prints it, `-` reads a line of the input.',
        form: 'text',
      },
      { name: 'keep-secret', help: 'Let the earlier secret verify too, until the sender has that of --secret.' },
      { name: 'drop-older-secret', help: 'Let only the newest secret verify.' },
      ...resultFlags,
      {
        name: 'unset',
        value: 'key',
        many: true,
        help: 'Remove a key; may be repeated.',
        oneOf:
          'source signature verify_token events prompt filters script coalesce deliver deliver_extra deliver_only on_failure on_failure_extra cron_job description'.split(
            ' ',
          ),
      },
      profile,
    ],
    about: [
      'The record that results is checked before it is written. Another --deliver drops the chat of the earlier target, and --coalesce the earlier window. The secret of a route of config.yaml is changed by `agent gateway setup --route <name> --secret generate`.',
    ],
    examples: [
      ['webhook edit ci --secret generate', 'another secret; it is printed once'],
      ['webhook edit ci --secret generate --keep-secret', 'the earlier one verifies too, while the sender is changed'],
      ['webhook edit ci --events build,deploy --unset filters', 'other events, and no filters any more'],
    ],
    exits: {
      1: 'There is no such subscription, its provider makes the secret, or a rule of routes is broken; nothing was changed.',
    },
    files: ['webhook_subscriptions.json'],
    see: ['webhook subscribe', 'docs/subscriptions.md'],
    load: async () => (await webhook()).editWebhook,
  },
  'webhook list': {
    help: 'List routes and subscriptions.',
    flags: [json],
    examples: [
      ['webhook list', 'every route with its URL and problems'],
      ['webhook list --json', 'the same for scripts'],
    ],
    files: ['config.yaml', 'webhook_subscriptions.json'],
    see: ['webhook show', 'webhook subscribe'],
    load: async () => (await webhook()).listWebhooks,
  },
  'webhook show <name:route>': {
    help: 'Show one route.',
    flags: [profile, json],
    examples: [['webhook show ci', 'one route, without its secret']],
    see: ['webhook list'],
    load: async () => (await webhookShow()).showWebhook,
  },
  'webhook disable <name:route>': {
    help: 'Disable a route: its senders get 403.',
    flags: [profile],
    about: [
      'A route of config.yaml gets `enabled: false`, comments kept; a subscription likewise. Its senders get 403, and most do not send those events again.',
    ],
    examples: [['webhook disable ci', 'answer its senders 403']],
    files: ['config.yaml', 'webhook_subscriptions.json'],
    see: ['webhook enable', 'webhook list'],
    load: async () => (await webhook()).disableWebhook,
  },
  'webhook enable <name:route>': {
    help: 'Enable a route again.',
    flags: [profile],
    examples: [['webhook enable ci', 'receive events again']],
    files: ['config.yaml', 'webhook_subscriptions.json'],
    see: ['webhook disable'],
    load: async () => (await webhook()).enableWebhook,
  },
  'webhook hold <name:route>': {
    help: 'Hold a route: its events are accepted, and its runs wait.',
    flags: [profile, json],
    about: [
      'A route of config.yaml gets `held: true`, comments kept; a subscription likewise. Its events are accepted and kept, and no run of it begins until it is released, also across restarts. Runs in progress continue, and its `concurrency` stays as it is.',
    ],
    examples: [
      ['webhook hold ci', 'while a model is down, or during a flood'],
      ['webhook hold ci --json', 'with the number of runs that wait, for scripts'],
    ],
    exits: { 1: 'The route has deliver_only, so that it has no runs; or the change is written and not in force.' },
    files: ['config.yaml', 'webhook_subscriptions.json'],
    see: ['webhook release', 'webhook disable', 'docs/agent-runs.md'],
    load: async () => (await webhook()).holdWebhook,
  },
  'webhook release <name:route>': {
    help: 'Release a held route: the runs that wait begin.',
    flags: [profile, json],
    about: [
      'Takes `held` out of the route or the subscription. A route that a limit of 0 holds (its own `concurrency`, or `agent.concurrency`) is released by raising that limit; the message says where it is.',
    ],
    examples: [['webhook release ci', 'let the runs that wait begin']],
    exits: { 1: 'A limit of 0 still holds its runs; or the change is written and not in force.' },
    files: ['config.yaml', 'webhook_subscriptions.json'],
    see: ['webhook hold', 'runs cancel'],
    load: async () => (await webhook()).releaseWebhook,
  },
  'webhook remove <name:subscription>': {
    help: 'Remove a dynamic subscription.',
    flags: [profile],
    examples: [['webhook remove ci', 'remove a subscription']],
    exits: { 1: 'No subscription has that name; routes of config.yaml are removed there.' },
    files: ['webhook_subscriptions.json'],
    see: ['webhook subscribe'],
    load: async () => (await webhook()).removeWebhook,
  },
  'webhook test <name:route>': {
    help: 'Sign a test payload or a sample and send it to a route.',
    flags: [
      {
        name: 'sample',
        value: 'event',
        help: 'A sample event of a provider, such as pull_request.opened or stripe:invoice.paid.',
        names: 'sample',
      },
      { name: 'payload', value: 'json', help: 'The payload to send.' },
      { name: 'checks-only', help: 'Stop after the checks: nothing is written, delivered or run.' },
      { name: 'event', value: 'type', help: 'The event type to send.' },
      profile,
      json,
    ],
    about: [
      'Signs a payload or a sample as the route verifies. Where only the sender can sign (Discord, SendGrid, PayPal, Amazon SNS, Google Cloud, Google Chat), the event is handed in without its signature, which the answer and the history say; every rule after the signature applies.',
    ],
    examples: [
      ['webhook test ci', 'send a small test payload'],
      ['webhook test reviews --sample pull_request.opened', 'send what GitHub sends, signed as the route verifies'],
      ['webhook test payments --sample stripe:invoice.paid', 'the same for any provider of docs/sources.md'],
      [`webhook test ci --event build --payload '{"build": {"url": "https://ci.example/1"}}'`, 'send that'],
    ],
    needsGateway: true,
    exits: { 1: 'The answer was not 2xx; it is shown.' },
    see: ['events'],
    load: async () => (await webhook()).testWebhook,
  },
  'webhook doctor <name:route>': {
    help: 'Explain why the last requests of a route were refused.',
    flags: [profile, json],
    examples: [
      ['webhook doctor payments', 'why Stripe’s last request was refused'],
      ['webhook doctor payments --json', 'the same for scripts'],
    ],
    needsGateway: true,
    see: ['webhook test', 'inspect why', 'docs/sources.md'],
    load: async () => (await webhookShow()).examineWebhook,
  },
  // Two commands under their earlier names.
  'webhook deliveries [id:delivery]': {
    help: 'The same as `agent events`; with an id as `agent events show`.',
    flags: eventFlags,
    hidden: true,
    load: async () => (await events()).listOrShowEvent,
  },
  'webhook replay [id:delivery]': { ...replay, help: 'The same as `agent events replay`.', hidden: true },
  events: listEvents,
  'events list': sameAs('events', listEvents, [['events list --json', 'the newest fifty, for scripts']]),
  'events show <id:delivery>': {
    help: 'Show one event with its payload and outcome.',
    flags: [
      { name: 'wait', help: 'Wait until it has ended; exits with 1 unless it was delivered.' },
      route,
      ofProfile,
      json,
    ],
    examples: [
      ['events show 8f2c-1', 'one by the id that its sender gave'],
      ['events show 8f2c-1 --wait --json', 'its outcome, once there is one'],
      ['events show latest', 'the newest'],
    ],
    needsGateway: true,
    see: ['events', 'inspect why'],
    load: async () => (await events()).showEvent,
  },
  'events replay [id:delivery]': replay,
};
