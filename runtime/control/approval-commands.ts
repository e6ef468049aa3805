/**
 * The commands for the questions that wait for a person: the question and its caller, the answer, and the rules made from
 * it. Part of the table of the control socket.
 * @see TRU-3, SRV-1 and SEC-4 in docs/specification.md
 */

import { basename } from 'node:path';
import { addApprovalRule } from '../../actors/config/server-entries.ts';
import { cut, defined, isJsonObject, type JsonObject } from '../../machines/base/json.ts';
import type { AgentSettings } from '../../machines/config/settings.ts';
import { type Remember, ruleOf } from '../../machines/mcp/approval-rules.ts';
import { payloadPerson } from '../../machines/webhook/payload-person.ts';
import { ambiguous, latest, shortestPrefix } from '../dispatch/meant-key.ts';
import {
  type CommandHost,
  type CommandPeer,
  type Commands,
  daemonOf,
  invalidParameter,
  optionalText,
  textOf,
} from './command.ts';
import type { AnsweredRow, ApprovalDetail, ApprovalRow, AskedBy } from './contract/approvals.ts';
import type { Nodes } from './contract/gateway.ts';
import { Refusal, refuse } from './contract/refusal.ts';
import { homeOf, profileOf } from './home-view.ts';
import { mcpOf } from './mcp-commands.ts';
import { applied } from './server-commands.ts';

/** Maximum characters of a reason, of a prompt, and of a body that is searched for a person. */
const maxNoteLength = 1_000;
const maxPromptLength = 100_000;
const maxBodyLength = 1_000_000;
/** As many as each gateway remembers. */
const maxAnswered = 100;
/** How often the questions of the other gateways are read for a watching peer. */
const othersMs = 1_000;

export const approvalCommands = {
  'approvals.list': async (host) => openQuestions(host),
  'approvals.answered': async (host) => {
    const own = mcpOf(host).answered();
    if (host.nodes === undefined) return own;
    const all = [...own, ...(await host.nodes.ofOthers<AnsweredRow>('approvals.answered'))];
    return all.sort((one, other) => (one.answered_at < other.answered_at ? 1 : -1)).slice(0, maxAnswered);
  },
  'approvals.show': async (host, params) => {
    const mcp = mcpOf(host);
    const id = textOf(params, 'id');
    const own = mcp.approval(id);
    if (own !== undefined) return withAsker(own, host);
    const meant = isShort(id) ? meantApproval(id, await openQuestions(host)) : undefined;
    const row = meant === undefined ? undefined : mcp.approval(meant);
    if (row !== undefined) return withAsker(row, host);
    if (meant === undefined || host.nodes === undefined) return refuseApproval(id);
    // Another gateway has it, which would take the short form for one of its own questions.
    const request = { method: 'approvals.show', params: { id: meant } };
    const answer = await host.nodes.routed(request, undefined, async () => refuseApproval(id));
    // The answer of another gateway is trusted to have the contract's type.
    return answer as unknown as ApprovalDetail;
  },

  'approvals.answer': async (host, params) => {
    const mcp = mcpOf(host);
    const id = textOf(params, 'id');
    const values = isJsonObject(params.values) ? params.values : undefined;
    const remember = rememberIn(params);
    const note = optionalText(params, 'note')?.trim();
    const more = { remember, ...(note ? { note: cut(note, maxNoteLength) } : {}) };
    const grant = params.grant === true;
    if (grant && Object.keys(values ?? {}).length > 0 && mcp.approval(id)?.kind === 'tool')
      refuse('approval-values', `approval ${id} is for a call, which takes no values; approve it without, or deny it`);
    if (grant && remember === 'always') await writeRule(id, params.where, host);
    const verdict = mcp.answer(id, grant, optionalText(params, 'by') ?? 'cli', values, more);
    switch (verdict.kind) {
      case 'taken':
        return { answered: id, ...(grant && remember === 'always' ? await applied(host) : {}) };
      case 'unknown':
        return refuseApproval(id);
      case 'refused':
        return refuse('approval-values', `approval ${id}: ${verdict.reason}; give the values anew`);
      case 'invalid':
        throw invalid(id, verdict.reason);
    }
  },

  'approvals.watch': async (host, _, peer) => {
    const mcp = mcpOf(host);
    peer.onEnd(mcp.onAsked((row) => peer.notify('approvals.asked', row)));
    peer.onEnd(mcp.onAnswered((row) => peer.notify('approvals.answered', row)));
    if (host.nodes === undefined) return { pending: mcp.approvals() };
    return { pending: [...mcp.approvals(), ...(await watchOthers(host.nodes, peer))] };
  },
} satisfies Partial<Commands>;

/** The questions of this gateway, and those of the others. */
async function openQuestions(host: CommandHost): Promise<readonly ApprovalRow[]> {
  return [...mcpOf(host).approvals(), ...((await host.nodes?.askQuestionsOfOthers()) ?? [])];
}

/** Returns the questions that wait at other gateways, and notifies the peer of later changes there. */
async function watchOthers(nodes: Nodes, peer: CommandPeer): Promise<readonly ApprovalRow[]> {
  const listed = async () => {
    const rows = await nodes.questionsOfOthers();
    return rows && new Map(rows.map((row) => [row.id, row]));
  };
  let timer: NodeJS.Timeout | undefined;
  let hasLeft = false;
  peer.onEnd(() => {
    hasLeft = true;
    clearTimeout(timer);
  });
  const first = (await listed()) ?? new Map<string, ApprovalRow>();
  let known: ReadonlyMap<string, ApprovalRow> = first;
  /** A question of a gateway that was silent for long is not announced twice. */
  const announced = new Set(first.keys());
  const later = (): void => {
    if (!hasLeft)
      timer = setTimeout(
        () =>
          void look()
            .catch(() => {})
            .then(later),
        othersMs,
      ).unref();
  };
  async function look(): Promise<void> {
    const now = await listed();
    if (now === undefined) return;
    for (const [id, row] of now) {
      if (announced.has(id)) continue;
      announced.add(id);
      peer.notify('approvals.asked', row);
    }
    const gone = new Set([...known.keys()].filter((id) => !now.has(id)));
    known = now;
    if (gone.size === 0) return;
    for (const row of await nodes.ofOthers<AnsweredRow>('approvals.answered'))
      if (gone.has(row.id)) peer.notify('approvals.answered', row);
  }
  later();
  return [...first.values()];
}

function rememberIn(params: JsonObject): Remember {
  const { remember = 'call' } = params;
  if (remember === 'call' || remember === 'run' || remember === 'always') return remember;
  return invalidParameter(params, 'remember', 'call, run or always');
}

/** Writes the rule that allows further calls of the tool, before this call is allowed. */
async function writeRule(id: string, where: unknown, host: CommandHost): Promise<void> {
  const mcp = mcpOf(host);
  const row = mcp.approval(id) ?? refuseApproval(id);
  const call = mcp.askedCall(id);
  if (call === undefined) throw invalid(id, 'only the call of a tool can be remembered');
  const verdict = ruleOf(call, isJsonObject(where) ? where : {});
  if (verdict.kind === 'invalid') throw invalid(id, verdict.why);
  const profile = profileOf(row.profile);
  const changed = await addApprovalRule({ home: host.source.home, profile, name: row.server }, verdict.rule);
  if (changed.kind === 'unwritable') return refuse('config-unwritable', changed.why);
  if (changed.kind === 'absent') {
    return refuse('server-unknown', `config.yaml has no mcp server "${row.server}" any more; approve only this call`);
  }
}

/** Adds the run that asked, with its prompt and the text of its call. */
async function withAsker(row: ApprovalDetail, host: CommandHost): Promise<ApprovalDetail> {
  const call = mcpOf(host).askedCall(row.id);
  const hints = call === undefined ? {} : hintsOf(call.definition);
  const more = { ...row, ...hints, ...(call?.said === undefined ? {} : { said: call.said }) };
  if (row.run === undefined) return more;
  const daemon = daemonOf(host);
  const run = await daemon.run(row.run).catch(() => undefined);
  if (run === undefined) return more;
  const { route, event, delivery_id } = run;
  const found = await daemon.delivery(delivery_id, { route, profile: row.profile }).catch(() => undefined);
  const agent = homeOf(host).profiles.get(profileOf(row.profile))?.settings.agent;
  const asked_by: AskedBy = defined({
    agent: agent && agentName(agent),
    route,
    event,
    delivery_id,
    event_key: found?.key,
    person: found && personIn(found.record.body),
  });
  return { ...more, asked_by, prompt: cut(run.prompt, maxPromptLength) };
}

/** The boolean hints of the tool, as its server gives them. */
function hintsOf(definition: object): Pick<ApprovalDetail, 'hints'> {
  const { annotations } = definition as { readonly annotations?: unknown };
  const given = annotations as Readonly<Record<string, unknown>> | undefined;
  const hint = (name: string): boolean | undefined => {
    const value = given?.[name];
    return typeof value === 'boolean' ? value : undefined;
  };
  const hints = defined({
    destructive: hint('destructiveHint'),
    idempotent: hint('idempotentHint'),
    open_world: hint('openWorldHint'),
  });
  return { hints };
}

const programNames: Readonly<Record<string, string>> = { claude: 'Claude Code', codex: 'Codex', gemini: 'Gemini CLI' };

function agentName({ runner, command, model }: AgentSettings): string {
  if (runner === 'model') return model === undefined ? 'a model' : `${model.provider} ${model.name}`;
  const program = basename(command[0] ?? runner);
  return programNames[program] ?? program;
}

function personIn(body: string): string | undefined {
  if (body.length > maxBodyLength) return undefined;
  try {
    return payloadPerson(JSON.parse(body));
  } catch {
    // A form, or not JSON.
    return undefined;
  }
}

/** Part of a number identifies no question: 1, which has ended, must not match 12. */
function isShort(asked: string): boolean {
  return asked.length >= shortestPrefix && !/\d/.test(asked);
}

/**
 * The id of the open question that `latest` or the letters of an id identify. Answers require the complete id, since another
 * question may be open by then.
 */
function meantApproval(asked: string, open: readonly ApprovalRow[]): string | undefined {
  if (asked === latest)
    return open.reduce<ApprovalRow | undefined>(
      (last, row) => (last !== undefined && row.asked_at < last.asked_at ? last : row),
      undefined,
    )?.id;
  const found = open.map(({ id }) => id).filter((id) => id.startsWith(asked));
  if (found.length > 1) throw ambiguous(asked, found);
  return found[0];
}

function refuseApproval(id: string): never {
  return refuse('approval-unknown', `no approval "${id}" waits; \`agent approvals list\` lists them`);
}

function invalid(id: string, why: string): Refusal {
  return new Refusal('approval-remember', `approval ${id}: ${why}; the question still waits`);
}
