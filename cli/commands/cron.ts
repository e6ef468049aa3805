/** `agent cron …`: the jobs of a profile, when they are due and how they ended. @see CRN-1 in docs/specification.md */

import type { JsonObject } from '../../machines/base/json.ts';
import { rowLimit } from '../../machines/base/row-limits.ts';
import { shellWord } from '../../machines/base/shell-word.ts';
import { stateWords } from '../../machines/base/status.ts';
import type { ChangedJob, JobChoice, JobDetail, JobRow } from '../../runtime/control/contract/jobs.ts';
import type { Method, Params, Result } from '../../runtime/control/contract.ts';
import {
  type CommandContext,
  changesOf,
  deliveryOf,
  type ExitCode,
  hasFlag,
  listFlag,
  refuse,
  strayChat,
  textFlag,
  textFlags,
  withHomeNamed,
} from '../context.ts';
import { counted, labelled } from '../labelled.ts';
import { sayStopped } from '../listing.ts';
import { ago, bold, indented, inTime, oneLine, show, table } from '../terminal.ts';

const defaultFirings = 10;

type CronMethod = Extract<Method, `cron.${string}`>;

export async function addJob(context: CommandContext): Promise<ExitCode> {
  const [name = ''] = context.args;
  const stray = strayChat(context);
  if (stray !== undefined) return refuse(context, stray, 2);
  const record: JsonObject = { ...recordOf(context), ...(hasFlag(context, 'paused') ? { paused: true } : {}) };
  const row = await call(context, 'cron.add', { name, record, force: hasFlag(context, 'force') });
  return show(context, row, () => `Added ${bold(context.out, oneLine(row.name ?? row.id))}. ${whenOf(row, context)}\n`);
}

/** Changes only the named keys of a job. */
export async function editJob(context: CommandContext): Promise<ExitCode> {
  const stray = strayChat(context);
  if (stray !== undefined) return refuse(context, stray, 2);
  const record = changesOf(context, recordOf(context));
  if (typeof record === 'string') return refuse(context, record, 2);
  if (Object.keys(record).length === 0)
    return refuse(context, 'name what is to change: a schedule, or a flag such as --prompt or --unset <key>', 2);
  const row = await call(context, 'cron.edit', { ...jobOf(context), record });
  return show(
    context,
    row,
    () => `Changed ${bold(context.out, oneLine(row.name ?? row.id))}. ${whenOf(row, context)}\n`,
  );
}

function recordOf(context: CommandContext): JsonObject {
  const [, schedule] = context.args;
  const grace = textFlag(context, 'grace');
  const skills = listFlag(context, 'skill');
  return {
    ...(schedule === undefined ? {} : { schedule }),
    ...textFlags(context, 'timezone', 'prompt', 'model'),
    ...(skills.length === 0 ? {} : { skills }),
    ...deliveryOf(context),
    ...(grace === undefined ? {} : { grace_seconds: Number(grace) }),
  };
}

export async function listJobs(context: CommandContext): Promise<ExitCode> {
  const rows = await call(context, 'cron.list', {});
  const head = ['NAME', 'STATE', 'SCHEDULE', 'ZONE', 'NEXT', 'DELIVER', 'PROFILE', 'ID', 'PROBLEM'];
  const cells = (row: JobRow): string[] => [
    row.name,
    stateWords(row.state),
    row.schedule ?? '',
    row.timezone ?? '',
    nextOf(row, context),
    row.deliver ?? '',
    row.profile,
    row.id,
    row.problem ?? row.why ?? '',
  ];
  return show(context, rows, () =>
    rows.length === 0
      ? withHomeNamed(context.gateway, "No jobs. Add one: agent cron add <name> '0 9 * * 1-5' --prompt <text>\n")
      : table(context.out, head, rows.map(cells)),
  );
}

/** A person reads the remaining time; a script reads the due time. */
function nextOf({ next_due: due, timezone }: JobRow, { out }: CommandContext): string {
  if (typeof due !== 'string' || due === '') return '';
  return out.isTerminal ? inTime(due, Date.now()) : inZone(due, timezone);
}

/** A time in the job's time zone, with its offset, such as 2026-06-01T09:00:00+02:00. */
function inZone(iso: string, zone: string | undefined): string {
  try {
    const format = new Intl.DateTimeFormat('sv-SE', {
      timeZone: zone === undefined || zone === '' ? 'UTC' : zone,
      dateStyle: 'short',
      timeStyle: 'medium',
    });
    const local = format.format(new Date(iso)).replace(' ', 'T');
    const offsetMinutes = Math.round((Date.parse(`${local}Z`) - Date.parse(iso)) / 60_000);
    const size = Math.abs(offsetMinutes);
    const two = (value: number): string => String(value).padStart(2, '0');
    return `${local}${offsetMinutes < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`;
  } catch {
    // The job is broken: this machine lacks its time zone.
    return iso;
  }
}

export async function showJob(context: CommandContext): Promise<ExitCode> {
  const limit = rowLimit(Number(textFlag(context, 'limit') ?? defaultFirings));
  const larger = rowLimit(limit * 2);
  // One more than is shown, to see whether there are more.
  const found = await call(context, 'cron.show', { ...jobOf(context), limit: limit + 1 });
  const job = found.history === undefined ? found : { ...found, history: found.history.slice(0, limit) };
  const isShort = (found.history?.length ?? 0) > limit || (larger === limit && job.history?.length === limit);
  const route = shellWord(`cron/${oneLine(job.name)}`);
  const rest = larger === limit ? `\`agent events --route ${route}\` lists them all` : `--limit ${larger} shows more`;
  show(context, job, () => formatJob(context, job));
  if (isShort) sayStopped(context, `The newest ${counted(limit, 'firing')}. ${rest}.`);
  return 0;
}

function formatJob(context: CommandContext, job: JobDetail): string {
  const head = labelled(context.out, [
    ['Id', job.id],
    ['Profile', job.profile],
    ['State', stateWords(job.state)],
    ['Schedule', job.schedule === '' ? 'none' : `${job.schedule}${job.timezone ? ` (${job.timezone})` : ''}`],
    ['Deliver', job.deliver ?? ''],
    ['On failure', job.on_failure],
    ['Grace', `${job.grace_seconds} s`],
    ['Skills', job.skills.join(', ')],
    ['Model', job.model],
    ['Run', job.run ?? ''],
    ['Problem', job.problem ?? job.why ?? ''],
    ['Next', job.next.map((at) => inZone(at, job.timezone)).join('\n')],
  ]);
  return `${bold(context.out, oneLine(job.name))}\n${head}\n${indented(job.prompt)}\n${historyOf(context, job)}`;
}

export async function pauseJob(context: CommandContext): Promise<ExitCode> {
  const row = await call(context, 'cron.pause', jobOf(context));
  return show(context, row, () => `Paused ${oneLine(row.name ?? row.id)}: it is not fired until it is resumed.\n`);
}

export async function resumeJob(context: CommandContext): Promise<ExitCode> {
  const row = await call(context, 'cron.resume', jobOf(context));
  return show(context, row, () => `Resumed ${oneLine(row.name ?? row.id)}. ${whenOf(row, context)}\n`);
}

export async function runJob(context: CommandContext): Promise<ExitCode> {
  const fired = await call(context, 'cron.run', {
    ...jobOf(context),
    ...textFlags(context, 'context'),
    force: hasFlag(context, 'force'),
  });
  return show(context, fired, () => `Fired. agent runs show ${oneLine(fired.run)}\n`);
}

export async function removeJob(context: CommandContext): Promise<ExitCode> {
  const gone = await call(context, 'cron.remove', jobOf(context));
  return show(context, gone, () => `Removed ${oneLine(gone.removed)}. A run of it that is in progress continues.\n`);
}

function historyOf(context: CommandContext, { history: rows }: JobDetail): string {
  if (rows === undefined) return '\nThe history is kept by the gateway, which is not running.\n';
  if (rows.length === 0) return '';
  const nowMs = Date.now();
  const firings = table(
    context.out,
    ['AGO', 'CAUSE', 'STATUS', 'DUE', 'RUN', 'REASON'],
    rows.map((row) => [
      ago(row.at, nowMs),
      row.cause,
      stateWords(row.status),
      row.due_at ?? '',
      row.run ?? '',
      oneLine(row.reason ?? ''),
    ]),
  );
  return `\n${firings}`;
}

/** When the job will run, as a sentence. */
function whenOf(row: ChangedJob, { out, gateway }: CommandContext): string {
  const { next_due, schedule, state, problem, timezone } = row;
  if (problem !== undefined && state === 'broken') return oneLine(problem);
  const note = problem === undefined ? '' : ` Note: ${oneLine(problem)}.`;
  if (state === 'paused' || state === 'disabled') return `It is ${state}.${note}`;
  if (schedule === undefined || schedule === '')
    return `${withHomeNamed(gateway, 'It has no schedule: webhooks and `agent cron run` fire it.')}${note}`;
  if (next_due === undefined || next_due === null) return note.trim();
  const at = inZone(next_due, timezone);
  if (out.isTerminal) return `Next: ${inTime(next_due, Date.now())}, at ${at}.${note}`;
  return note === '' ? `Next: ${at}` : `Next: ${at}.${note}`;
}

function call<M extends CronMethod>(context: CommandContext, method: M, params: Params<M>): Promise<Result<M>> {
  return context.ask(method, { ...params, ...textFlags(context, 'profile') });
}

function jobOf(context: CommandContext): JobChoice {
  return { job: context.args[0] ?? '' };
}
