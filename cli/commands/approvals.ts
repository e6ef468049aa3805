/** `agent approvals …`: the questions that wait for a person. @see TRU-3, SRV-1 and SEC-7 in docs/specification.md */

import { quotedWord } from '../../machines/base/shell-word.ts';
import { inQuotes, shownJson, shownText, withoutGaps, wordsOfServer } from '../../machines/base/shown-json.ts';
import type { AnsweredRow, ApprovalDetail, ApprovalRow } from '../../runtime/control/contract/approvals.ts';
import type { Params } from '../../runtime/control/contract.ts';
import { connectGateway } from '../call.ts';
import {
  agentOf,
  type CommandContext,
  type ExitCode,
  hasFlag,
  listFlag,
  refuse,
  textFlag,
  textFlags,
} from '../context.ts';
import { followUntilEnd } from '../follow.ts';
import { ago, bold, dim, oneLine, printJsonLine, show, table } from '../terminal.ts';
import { readObject } from './mcp.ts';

const maxSaidLength = 1_000;

/** Lists the waiting questions; with --follow continues and prints each new question. */
export async function listApprovals(context: CommandContext): Promise<ExitCode> {
  if (hasFlag(context, 'watch') || hasFlag(context, 'follow')) return watchApprovals(context);
  const rows = await context.ask('approvals.list');
  return show(context, rows, () => (rows.length === 0 ? 'Nothing waits for an approval.\n' : tableOf(context, rows)));
}

export async function showApproval(context: CommandContext): Promise<ExitCode> {
  const id = context.args[0] ?? '';
  const row = await context.ask('approvals.show', { id });
  return show(context, row, () => formatApproval(context, row));
}

function formatApproval({ out, gateway }: CommandContext, row: ApprovalDetail): string {
  const words = oneLine(wordsOfServer(row.server, row.message, row.kind));
  const values = row.kind === 'form' ? ` --values ${quotedWord(shownText(JSON.stringify(blankForm(row.detail))))}` : '';
  const agent = agentOf(gateway);
  const how = `  ${agent} approvals approve ${row.id}${values}\n  ${agent} approvals deny ${row.id}\n`;
  return [
    `${bold(out, row.id)}  ${row.kind}  ${oneLine(row.server)}  ${oneLine(row.tool ?? '')}\n`,
    `${withoutGaps(shownJson(row.detail)).replace(/^/gm, '    ')}\n`,
    ...[...(words === '' ? [] : [words]), ...asked(row), `expires in ${remaining(row.expires_at)}`].map(
      (line) => `  ${line}\n`,
    ),
    out.isTerminal ? dim(out, how) : '',
  ].join('');
}

/** Who asked, shown below the arguments; what the sender and the model said is quoted. */
function asked({ asked_by: by, hints, said, node }: ApprovalDetail): readonly string[] {
  const run = by && `asked by ${by.agent ?? 'the agent'}, in a run of ${by.route} for event ${inQuotes(by.event)}`;
  return [
    ...(run === undefined ? [] : [run]),
    ...(by?.person === undefined ? [] : [`the sender names ${inQuotes(by.person)}`]),
    ...(hints?.destructive === true ? ['the tool is marked as destructive'] : []),
    ...(node === undefined ? [] : [`it waits at the gateway ${node}`]),
    ...(said === undefined || said === '' ? [] : [`the agent said before: ${inQuotes(said, maxSaidLength)}`]),
  ].map(oneLine);
}

/** The required fields of a form, empty. */
function blankForm(schema: unknown): Record<string, string> {
  const { required } = (schema ?? {}) as { readonly required?: unknown };
  return Object.fromEntries((Array.isArray(required) ? required : []).map((field) => [String(field), '…']));
}

export function approve(context: CommandContext): Promise<ExitCode> {
  return answer(context, true);
}

export function deny(context: CommandContext): Promise<ExitCode> {
  return answer(context, false);
}

async function answer(context: CommandContext, grant: boolean): Promise<ExitCode> {
  const id = context.args[0] ?? '';
  const text = textFlag(context, 'values');
  const values = text === undefined ? {} : readObject(text);
  if (values === undefined) return refuse(context, `--values must be a JSON object, such as '{"name": "Ada"}'`, 2);
  const kept: Kept | string = grant ? rememberedOf(context) : textFlags(context, 'note');
  if (typeof kept === 'string') return refuse(context, kept, 2);
  const { not_in_force: why } = await context.ask('approvals.answer', { id, grant, values, ...kept });
  context.out.print(
    grant ? `Approved ${oneLine(id)}${scopes[kept.remember ?? 'call']}.\n` : `Denied ${oneLine(id)}.\n`,
  );
  return why === undefined ? 0 : refuse(context, `the rule is written and not in force: ${oneLine(why)}`, 1);
}

type Kept = Pick<Params<'approvals.answer'>, 'note' | 'remember' | 'where'>;

const scopes = { call: '', run: ' for its run', always: '; the rule is in the entry of its server' } as const;

/** What a yes covers; a string is the usage error if the flags contradict each other. */
function rememberedOf(context: CommandContext): Kept | string {
  const where = listFlag(context, 'where');
  const always = hasFlag(context, 'always');
  const forRun = hasFlag(context, 'for-run');
  const remembers = always ? '--always' : forRun ? '--for-run' : undefined;
  if (remembers !== undefined && hasFlag(context, 'values'))
    return `--values fills a form and ${remembers} is for a call; give one of them`;
  if (always && forRun) return 'give --for-run or --always';
  if (!always && where.length > 0) return '--where limits a rule; give --always with it';
  if (!always) return forRun ? { remember: 'run' } : {};
  const limits = where.map((one) => [one.slice(0, one.indexOf('=')), one.slice(one.indexOf('=') + 1)] as const);
  if (where.some((one) => one.indexOf('=') < 1)) return '--where is an argument and its value, such as repo=acme/web';
  return { remember: 'always', where: Object.fromEntries(limits) };
}

const verdicts = { approved: 'approved', denied: 'denied', timedOut: 'not answered' } as const;

/** Lists the last answers, newest first. */
export async function listAnswered(context: CommandContext): Promise<ExitCode> {
  const rows = await context.ask('approvals.answered');
  const nowMs = Date.now();
  const cells = (row: AnsweredRow): string[] => [
    row.id,
    ago(row.answered_at, nowMs),
    `${verdicts[row.verdict]}${scopes[row.remember ?? 'call']}`,
    row.by ?? '',
    row.server,
    row.tool ?? row.kind,
    row.note ?? '',
  ];
  return show(context, rows, () =>
    rows.length === 0
      ? 'Nothing was answered since the gateway started.\n'
      : table(context.out, ['ID', 'AGO', 'ANSWER', 'BY', 'SERVER', 'WHAT', 'NOTE'], rows.map(cells)),
  );
}

async function watchApprovals(context: CommandContext): Promise<ExitCode> {
  const client = await connectGateway(context.gateway);
  const show = (row: ApprovalRow): void => {
    if (hasFlag(context, 'json')) printJsonLine(context, row);
    else {
      const { id, server, tool, kind } = row;
      context.out.print(`${oneLine(id)}  ${oneLine(server)}  ${oneLine(tool ?? kind)}  ${oneLine(contentOf(row))}\n`);
    }
  };
  client.on('approvals.asked', show);
  return followUntilEnd(client, context.gateway, async () => {
    const { pending } = await client.ask('approvals.watch');
    if (context.out.isTerminal && !hasFlag(context, 'json')) {
      const how = `${agentOf(context.gateway)} approvals approve <id> or deny <id> answers; Ctrl-C ends this\n`;
      context.out.print(dim(context.out, how));
    }
    for (const row of pending) show(row);
  });
}

function tableOf(context: CommandContext, rows: readonly ApprovalRow[]): string {
  const nowMs = Date.now();
  const isElsewhere = rows.some(({ node }) => node !== undefined);
  return table(
    context.out,
    ['ID', 'AGO', 'EXPIRES', ...(isElsewhere ? ['GATEWAY'] : []), 'SERVER', 'WHAT', 'MESSAGE'],
    rows.map((row) => [
      row.id,
      ago(row.asked_at, nowMs),
      remaining(row.expires_at),
      ...(isElsewhere ? [row.node ?? ''] : []),
      row.server,
      row.tool ?? row.kind,
      contentOf(row),
    ]),
  );
}

/** The call in question for a list: the arguments first, then what the server says. */
export function contentOf({ call = '', server, message, kind }: ApprovalRow): string {
  return `${call} ${wordsOfServer(server, message, kind)}`.trim();
}

function remaining(iso: string): string {
  return `${Math.max(0, Math.ceil((Date.parse(iso) - Date.now()) / 1_000))}s`;
}
