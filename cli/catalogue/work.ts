/**
 * The commands of cron jobs, agent runs and deliveries.
 * @see CLI-1 and CLI-5 in docs/specification.md
 */

import { deliveryStatuses, runStatuses, sweptStatuses } from '../../machines/base/status.ts';
import {
  choices,
  deliveryFlags,
  type Flag,
  failedSince,
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

const allDead: Flag = { name: 'all', help: 'Every dead letter, of a target or route where one is named.' };
const sweptStatus: Flag = {
  ...status(sweptStatuses),
  help: 'With --all, deliveries with this status in place of dead letters.',
};
const target: Flag = { name: 'target', value: 'name', help: 'Only to this target.', form: 'target' };
const keptRuns =
  'While no gateway runs, the runs are read from the journal on disk, and a note on standard error says so. A journal in Postgres needs a running gateway.';

const runs = () => import('../commands/runs.ts');
const deliveries = () => import('../commands/deliveries.ts');
const cron = () => import('../commands/cron.ts');

const listRuns: Row = {
  help: 'List agent runs.',
  flags: [...choices, status(runStatuses), json],
  about: [keptRuns],
  examples: [
    ['runs', 'the newest fifty'],
    ['runs --status failed --since 1d', 'those that failed since yesterday'],
    ['runs --follow', 'each run as it begins and ends'],
  ],
  files: ['state/'],
  see: ['runs show', 'events'],
  load: async () => (await runs()).listRuns,
};

const listDeliveries: Row = {
  help: 'List deliveries to targets, newest first; dead letters by `--status deadLettered`.',
  flags: [...choices, target, status(deliveryStatuses), json],
  examples: [
    ['deliveries', 'the newest fifty'],
    ['deliveries --follow', 'each delivery as it is tried and arrives'],
  ],
  needsGateway: true,
  see: ['deliveries show', 'deliveries retry', 'deliveries targets', 'docs/deliveries.md'],
  load: async () => (await deliveries()).listDeliveries,
};

const jobFlags: readonly Flag[] = [
  { name: 'prompt', value: 'text', help: 'What each run is asked to do.' },
  { name: 'timezone', value: 'zone', help: 'An IANA zone; that of this machine unless given.' },
  { name: 'skill', value: 'name', many: true, help: 'A skill for its runs; may be repeated.' },
  { name: 'model', value: 'name', help: 'The model of its runs; that of the profile unless given.' },
  ...deliveryFlags,
  { name: 'grace', value: 'seconds', help: 'How late a missed firing is still caught up (3600).', form: 'whole' },
];

export const workRows: Rows = {
  'cron add <name> [schedule]': {
    help: 'Add a job with a schedule: five fields, `@daily` or `every 15m`; without one, webhooks fire it.',
    flags: [
      ...jobFlags,
      { name: 'paused', help: 'Add it paused.' },
      { name: 'force', help: 'Replace a job of the same name.' },
      profile,
      json,
    ],
    examples: [
      [
        'cron add digest "0 7 * * 1-5" --prompt "Summarize the night" --deliver telegram --deliver-chat-id 42',
        'each weekday at seven',
      ],
      ['cron add probe "every 15m" --prompt "Look at the queue" --paused', 'every quarter of an hour, once resumed'],
    ],
    files: ['cron/jobs.json'],
    see: ['cron list', 'cron run', 'docs/cron.md'],
    load: async () => (await cron()).addJob,
  },
  'cron edit <job> [schedule]': {
    help: 'Change the schedule or other keys of a job; the rest of it stays.',
    flags: [
      ...jobFlags,
      {
        name: 'unset',
        value: 'key',
        many: true,
        help: 'Remove a key; may be repeated.',
        oneOf: 'schedule prompt skills model grace_seconds deliver deliver_extra on_failure on_failure_extra'.split(
          ' ',
        ),
      },
      profile,
      json,
    ],
    about: [
      'The record that results is checked before it is written. --skill replaces all skills, another --deliver drops the chat of the earlier target, and a changed schedule begins at the change.',
    ],
    examples: [
      ['cron edit digest "0 8 * * 1-5"', 'each weekday at eight, in the zone that it has'],
      ['cron edit digest --prompt "Summarize the night" --unset skills', 'another prompt, and no skills any more'],
    ],
    exits: { 1: 'There is no such job, or a rule of jobs is broken; nothing was changed.' },
    files: ['cron/jobs.json'],
    see: ['cron add', 'cron pause', 'docs/cron.md'],
    load: async () => (await cron()).editJob,
  },
  'cron list': {
    help: 'List the jobs of every profile with their state and next due time.',
    flags: [profile, json],
    examples: [
      ['cron list', 'every job with when it is due'],
      ['cron list --json', 'the same for scripts'],
    ],
    files: ['cron/jobs.json'],
    see: ['cron show', 'docs/cron.md'],
    load: async () => (await cron()).listJobs,
  },
  'cron show <job>': {
    help: 'Show a job, its next due times and the outcomes of its firings.',
    flags: [{ name: 'limit', value: 'n', help: 'Entries of the history at most (10).', form: 'count' }, profile, json],
    examples: [['cron show digest', 'its next times and the outcome of the last']],
    files: ['cron/jobs.json'],
    see: ['cron list', 'runs show'],
    load: async () => (await cron()).showJob,
  },
  'cron pause <job>': {
    help: 'Pause a job: it is not fired, by schedule or by webhook.',
    flags: [profile, json],
    examples: [['cron pause digest', 'not fired until it is resumed']],
    files: ['cron/jobs.json'],
    see: ['cron resume'],
    load: async () => (await cron()).pauseJob,
  },
  'cron resume <job>': {
    help: 'Resume a job; times that were missed meanwhile are not caught up.',
    flags: [profile, json],
    examples: [['cron resume digest', 'fired again from its next time on']],
    files: ['cron/jobs.json'],
    see: ['cron pause'],
    load: async () => (await cron()).resumeJob,
  },
  'cron run <job>': {
    help: 'Fire a job now; its schedule continues as before.',
    flags: [
      { name: 'context', value: 'text', help: 'Added to the prompt of this one run.' },
      { name: 'force', help: 'Also where the job is paused or disabled.' },
      profile,
      json,
    ],
    examples: [['cron run digest --context "Only the urgent ones"', 'fire it now, once']],
    needsGateway: true,
    exits: { 1: 'The job is paused, disabled or broken, and --force is not given.' },
    see: ['cron show', 'runs list'],
    load: async () => (await cron()).runJob,
  },
  'cron remove <job>': {
    help: 'Remove a job.',
    flags: [profile, json],
    examples: [['cron remove digest', 'remove it']],
    files: ['cron/jobs.json'],
    see: ['cron list'],
    load: async () => (await cron()).removeJob,
  },
  runs: listRuns,
  'runs list': sameAs('runs', listRuns, [
    ['runs list', 'the newest fifty'],
    ['runs list --status failed', 'those that failed'],
  ]),
  'runs show <id:run>': {
    help: 'Show one run with its prompt and response.',
    flags: [{ name: 'transcript', help: 'With all messages and tool calls.' }, json],
    about: [keptRuns],
    examples: [
      ['runs show 0mwu633pl0000nu9ns', 'prompt, response, delivery'],
      ['runs show 0mwu633pl0000nu9ns --transcript', 'all messages and tool calls'],
    ],
    files: ['state/'],
    see: ['runs list'],
    load: async () => (await runs()).showRun,
  },
  'runs cancel [id:run]': {
    help: 'Cancel a run that waits or is in progress; nothing is delivered.',
    flags: [
      {
        name: 'all',
        help: 'Every run that waits or is in progress, of a route, profile or status where one is named.',
      },
      route,
      ofProfile,
      status(['queued', 'running']),
      { ...since, help: 'Only runs of events that came since then: 2h, 3d or an ISO 8601 time.' },
      json,
    ],
    about: [
      'With --all and no --status, a batch that still collects is cancelled too. Runs that come meanwhile are left. `agent events replay --all --status cancelled` runs their events again.',
    ],
    examples: [
      ['runs cancel 0mwu633pl0000nu9ns', 'cancel it'],
      ['runs cancel --all --route ci --status queued', 'all that wait of a route'],
    ],
    needsGateway: true,
    exits: { 1: 'It has ended or responded, or one of --all could not be touched.' },
    see: ['runs list', 'docs/agent-runs.md'],
    load: async () => (await runs()).cancelRun,
  },
  deliveries: listDeliveries,
  'deliveries list': sameAs('deliveries', listDeliveries, [
    ['deliveries list', 'the newest fifty'],
    ['deliveries list --status deadLettered --target slack', 'the dead letters of one target'],
  ]),
  'deliveries show <id:sending>': {
    help: 'Show one delivery with its text and its outcome.',
    flags: [json],
    examples: [['deliveries show 0mwu633pl0000nu9ns', 'the text, and its outcome']],
    needsGateway: true,
    see: ['deliveries list'],
    load: async () => (await deliveries()).showDelivery,
  },
  'deliveries retry [id:sending]': {
    help: 'Try a delivery again now: one that waits, or a dead letter.',
    flags: [
      allDead,
      { name: 'force', help: 'Also one that may have arrived already.' },
      target,
      route,
      sweptStatus,
      failedSince,
      json,
    ],
    examples: [
      ['deliveries retry 0mwu633pl0000nu9ns', 'one, now'],
      ['deliveries retry --all --target slack --since 1h', 'those of a target that failed in the last hour'],
      ['deliveries retry --all --status waitingToRetry', 'now, in place of their next attempts'],
    ],
    needsGateway: true,
    exits: { 1: 'It may have arrived already (--force sends it all the same), or one of --all could not be touched.' },
    see: ['deliveries list', 'docs/deliveries.md'],
    load: async () => (await deliveries()).retryDelivery,
  },
  'deliveries drop [id:sending]': {
    help: 'Drop a delivery for good.',
    flags: [
      allDead,
      target,
      route,
      sweptStatus,
      failedSince,
      { name: 'reason', value: 'text', help: 'Why; it is kept with the delivery.', form: 'text' },
      json,
    ],
    examples: [
      ['deliveries drop 0mwu633pl0000nu9ns', 'one delivery'],
      ['deliveries drop --all --route ci', 'every dead letter of a route'],
      ['deliveries drop --all --status queued --target slack', 'all that wait for their turn at a target'],
    ],
    needsGateway: true,
    exits: { 1: 'One of --all could not be touched.' },
    see: ['deliveries list'],
    load: async () => (await deliveries()).dropDelivery,
  },
  'deliveries targets': {
    help: 'List the configured targets with the state of their connections, and the cure where one failed.',
    flags: [json],
    examples: [['deliveries targets', 'each target with its state, and the cure where it failed']],
    needsGateway: true,
    see: ['doctor', 'docs/deliveries.md'],
    load: async () => (await deliveries()).listTargets,
  },
};
