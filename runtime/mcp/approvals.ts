/**
 * The questions that wait for a person: opens them in their pool, lists them, and accepts answers from any surface. Keeps in
 * memory what follows from answers: the tools that are allowed for a run, and the last answers.
 * @see TRU-1, TRU-3 and SRV-1 in docs/specification.md
 */

import type { Logger } from '../../actors/ports.ts';
import { getOrMake } from '../../machines/base/get-or-make.ts';
import { cut, type Json, type JsonObject } from '../../machines/base/json.ts';
import type { ChartPool } from '../../machines/base/pool.ts';
import { shownText, withoutGaps, wordInSentence } from '../../machines/base/shown-json.ts';
import { type ApprovalContext, type ApprovalInput, approvalMachine } from '../../machines/mcp/approval.machine.ts';
import { type ApprovalRule, isCovered, type Remember, type RuledCall } from '../../machines/mcp/approval-rules.ts';
import { checkElicitationValues } from '../../machines/mcp/elicitation-values.ts';
import type { AnsweredRow, ApprovalDetail, ApprovalRow } from '../control/contract/approvals.ts';

/** A tool as it was shown to a person. */
interface SeenTool {
  readonly server: string;
  readonly tool: string;
  readonly definition: object;
}

export type ApprovalAnswer = {
  /** `tooMany`: the run or caller already has the maximum of open questions, and no person was asked. */
  readonly verdict: 'approved' | 'denied' | 'timedOut' | 'tooMany';
  readonly values: JsonObject | null;
  /** The reason of a denial. */
  readonly note?: string;
};

export interface ApprovalQuestion extends Omit<ApprovalInput, 'id' | 'askedAtMs'> {
  /** The caller outside of a run: `cli`, `page`, `chat`, and each `agent mcp serve` by a name of its own. */
  readonly caller?: string;
  /** The waiting call. Its arguments may contain secrets, so it is not part of the chart. */
  readonly call?: AskedCall;
}

/** A call that waits for a person, as it would be sent. */
export interface AskedCall extends RuledCall {
  /** The model's text with the call. */
  readonly said?: string;
}

/** Optional parts of an answer. */
interface AnswerMore {
  /** Passed to the caller as the reason of a denial. */
  readonly note?: string;
  readonly remember?: Remember;
}

/** Open questions per run or caller, more than a person answers in five minutes, so that one cannot bury the others. */
export const maxOpenQuestions = 32;

const maxAnswered = 100;

/** In characters, in a list of questions. */
const maxCallLength = 200;

/** A question, for a delivery's timeline. */
export type WaitingQuestion = Pick<
  ApprovalContext,
  'id' | 'server' | 'kind' | 'tool' | 'message' | 'askedAtMs' | 'timeoutMs'
>;

type AnswerVerdict =
  | { readonly kind: 'taken' }
  | { readonly kind: 'unknown' }
  /** The values do not match the form. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** The answer cannot be remembered in this way. */
  | { readonly kind: 'invalid'; readonly reason: string };

export interface Approvals {
  /**
   * Opens a question and returns its id. Calls `answered` once, unless the question is withdrawn; at once if too many are
   * open.
   * @param runs the runs that wait for the answer: that of the question, or each for which it may be asked
   */
  ask(question: ApprovalQuestion, answered: (answer: ApprovalAnswer) => void, runs?: readonly string[]): string;
  withdraw(id: string): void;
  answer(id: string, grant: boolean, by: string, values?: JsonObject, more?: AnswerMore): AnswerVerdict;
  /** Grants the open questions about calls that the rules of their servers cover by now. */
  grantCovered(rules: (profile: string, server: string) => readonly ApprovalRule[]): void;
  list(): readonly ApprovalRow[];
  /** The last answers, newest first. */
  answered(): readonly AnsweredRow[];
  /** The call of a question; undefined for a form. */
  callOf(id: string): AskedCall | undefined;
  /** Whether a person allowed a tool for a run (TRU-3). */
  isAllowed(run: string | undefined, tool: SeenTool): boolean;
  show(id: string): ApprovalDetail | undefined;
  /** The questions that a run waits for, oldest first. */
  ofRun(run: string): readonly WaitingQuestion[];
  /** The runs that wait for a person, each with its oldest question's id. */
  runsThatWait(): ReadonlyMap<string, string>;
  /**
   * Calls back when a run begins or stops waiting for a person. The returned function ends this and denies the run's open
   * questions.
   */
  whileAsked(run: string, changed: (waits: boolean) => void): () => void;
  onAsked(listener: (row: ApprovalRow) => void): () => void;
  /** Calls back with each answer, until the returned function is called. */
  onAnswered(listener: (row: AnsweredRow) => void): () => void;
  /** Called when the chart of a question has ended, or has announced it. */
  settled(id: string, answer: ApprovalAnswer, context?: ApprovalContext): void;
  announced(context: ApprovalContext): void;
}

/** @param mark the mark of this start, so that an id from an earlier start never matches a new question */
export function createApprovals(
  pool: () => ChartPool<typeof approvalMachine>,
  nowMs: () => number,
  mark: string,
  log?: Pick<Logger, 'warnOnce'>,
): Approvals {
  interface Waiting {
    readonly answered: (answer: ApprovalAnswer) => void;
    readonly asker: string | undefined;
    readonly call: AskedCall | undefined;
  }
  const waiting = new Map<string, Waiting>();
  /** The number of open questions by run or caller. */
  const openOf = new Map<string, number>();
  const listeners = new Set<(row: ApprovalRow) => void>();
  const answerListeners = new Set<(row: AnsweredRow) => void>();
  /** The tools that a person allowed for a run, by run and tool, as they were shown; until the run ends. */
  const allowed = new Map<string, Map<string, string>>();
  /** Newest first. */
  const kept: AnsweredRow[] = [];
  let last = 0;

  const isAllowed: Approvals['isAllowed'] = (run, { server, tool, definition }) => {
    const seen = run === undefined ? undefined : allowed.get(run)?.get(`${server}/${tool}`);
    return seen !== undefined && seen === JSON.stringify(definition);
  };

  const contextOf = (id: string): ApprovalContext | undefined => pool().get(id)?.getSnapshot().context;

  /** The open questions of each followed run. */
  const followed = new Map<string, { readonly open: Set<string>; readonly changed: (waits: boolean) => void }>();

  function ended(id: string): void {
    const asker = waiting.get(id)?.asker;
    if (waiting.delete(id) && asker !== undefined) {
      const left = (openOf.get(asker) ?? 1) - 1;
      if (left === 0) openOf.delete(asker);
      else openOf.set(asker, left);
    }
    for (const { open, changed } of followed.values()) if (open.delete(id) && open.size === 0) changed(false);
  }

  function settled(id: string, answer: ApprovalAnswer, context?: ApprovalContext): void {
    const asked = waiting.get(id);
    if (context !== undefined) {
      const row = answeredRow(context, nowMs());
      kept.unshift(row);
      kept.length = Math.min(kept.length, maxAnswered);
      for (const listener of answerListeners) listener(row);
    }
    ended(id);
    asked?.answered(answer);
  }

  /** Allows the tool for the run of a question; returns why that is impossible, else undefined. */
  function allowForRun(id: string, { run, server, tool }: ApprovalContext): string | undefined {
    const call = waiting.get(id)?.call;
    if (call === undefined || run === undefined) return 'no run asked this, so only this call can be approved';
    if (!followed.has(run)) return 'its run has ended';
    getOrMake(allowed, run, () => new Map()).set(`${server}/${tool}`, JSON.stringify(call.definition));
    return undefined;
  }

  /** Grants the other open questions of a run that its new rule covers. */
  function grantAlike({ id, run, server, tool }: ApprovalContext, by: string): void {
    const alike = [...pool()].filter(([other, child]) => {
      const asked = child.getSnapshot().context;
      const call = waiting.get(other)?.call;
      if (other === id || asked.run !== run || asked.server !== server || asked.tool !== tool) return false;
      return call !== undefined && isAllowed(run, { server, tool, definition: call.definition });
    });
    for (const [other] of alike) pool().get(other)?.send({ type: 'approval.grant', by, values: null, remember: 'run' });
  }

  return {
    ask({ caller, call, ...question }, answered, runs = question.run === undefined ? [] : [question.run]) {
      last += 1;
      const id = `a${mark}${last}`;
      const asker = askerOf(question.run, question.profile, caller);
      const open = asker === undefined ? 0 : (openOf.get(asker) ?? 0);
      if (asker !== undefined && open >= maxOpenQuestions) {
        const text = `${asker}: ${maxOpenQuestions} questions are open, and further ones are refused; answer them with \`agent approvals\``;
        log?.warnOnce(`approvals/${asker}`, text, { profile: question.profile, run: question.run });
        answered({ verdict: 'tooMany', values: null });
        return id;
      }
      if (asker !== undefined) openOf.set(asker, open + 1);
      waiting.set(id, { answered, asker, call });
      for (const each of runs) {
        const run = followed.get(each);
        run?.open.add(id);
        if (run?.open.size === 1) run.changed(true);
      }
      // The pool is full or stopped, so the question would reach no person.
      if (pool().spawn(id, { ...question, id, askedAtMs: nowMs() }) === undefined)
        settled(id, { verdict: 'denied', values: null });
      return id;
    },
    withdraw(id) {
      ended(id);
      pool().get(id)?.send({ type: 'approval.withdraw' });
    },
    answer(id, grant, by, values, { note, remember = 'call' } = {}) {
      const context = contextOf(id);
      if (context === undefined) return { kind: 'unknown' };
      if (!grant) {
        pool()
          .get(id)
          ?.send({ type: 'approval.deny', by, ...(note === undefined ? {} : { note }) });
        return { kind: 'taken' };
      }
      let checked: JsonObject | null = null;
      if (context.kind === 'form') {
        const verdict = checkElicitationValues(context.detail, values ?? {});
        if (verdict.kind === 'refused') {
          // The names of the fields are the server's words (SEC-7).
          const reason = verdict.findings
            .map(({ field, message }) => (field === '' ? message : `${wordInSentence(field)} ${message}`))
            .join('; ');
          return { kind: 'refused', reason };
        }
        checked = verdict.content;
      }
      const invalid = remember === 'run' ? allowForRun(id, context) : undefined;
      if (invalid !== undefined) return { kind: 'invalid', reason: invalid };
      pool().get(id)?.send({ type: 'approval.grant', by, values: checked, remember });
      if (remember === 'run') grantAlike(context, by);
      return { kind: 'taken' };
    },
    grantCovered(rules) {
      for (const [id, { call }] of [...waiting]) {
        const context = contextOf(id);
        if (context === undefined || call === undefined) continue;
        if (isCovered(rules(context.profile, context.server), call))
          pool().get(id)?.send({ type: 'approval.grant', by: 'a rule', values: null });
      }
    },
    list: () => [...pool()].map(([, child]) => waitingRow(child.getSnapshot().context)),
    answered: () => [...kept],
    callOf: (id) => waiting.get(id)?.call,
    isAllowed,
    show(id) {
      const context = contextOf(id);
      return context === undefined ? undefined : { ...rowOf(context), detail: context.detail as Json };
    },
    ofRun(run) {
      const all = [...pool()].map(([, child]) => child.getSnapshot().context);
      return all.filter((context) => context.run === run);
    },
    runsThatWait() {
      const oldest = new Map<string, string>();
      for (const [id, child] of pool()) {
        const { run } = child.getSnapshot().context;
        if (run !== undefined && !oldest.has(run)) oldest.set(run, id);
      }
      return oldest;
    },
    whileAsked(run, changed) {
      const mine = { open: new Set<string>(), changed };
      followed.set(run, mine);
      return () => {
        // The next attempt of the run may already be followed.
        if (followed.get(run) === mine) {
          followed.delete(run);
          allowed.delete(run);
        }
        // A question that may also be for another run ends with its calls instead.
        for (const id of mine.open)
          if (contextOf(id)?.run === run) pool().get(id)?.send({ type: 'approval.deny', by: 'the end of its run' });
      };
    },
    onAsked(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    onAnswered(listener) {
      answerListeners.add(listener);
      return () => answerListeners.delete(listener);
    },
    settled,
    announced(context) {
      const row = waitingRow(context);
      for (const listener of listeners) listener(row);
    },
  };
}

/**
 * The key for counting open questions. Undefined for a form without a call or with several callers, which has a limit per
 * server.
 */
function askerOf(run: string | undefined, profile: string, caller: string | undefined): string | undefined {
  if (run !== undefined) return `run/${run}`;
  return caller === undefined ? undefined : `caller/${profile}/${caller}`;
}

function answeredRow(context: ApprovalContext, atMs: number): AnsweredRow {
  const { by, granted, remember, note } = context;
  return {
    ...rowOf(context),
    verdict: verdictOf(context),
    answered_at: new Date(atMs).toISOString(),
    ...(by === null ? {} : { by }),
    ...(granted ? { remember } : {}),
    ...(note === null ? {} : { note }),
  };
}

/** Without an author, a question timed out. */
function verdictOf({ by, granted }: ApprovalContext): 'approved' | 'denied' | 'timedOut' {
  if (by === null) return 'timedOut';
  return granted ? 'approved' : 'denied';
}

function waitingRow(context: ApprovalContext): ApprovalRow {
  if (context.kind === 'form') return rowOf(context);
  const line = withoutGaps(shownText(JSON.stringify(context.detail)));
  const kept = cut(line, maxCallLength);
  return { ...rowOf(context), call: kept === line ? line : `${kept}…` };
}

function rowOf({ id, profile, server, run, kind, tool, message, askedAtMs, timeoutMs }: ApprovalContext): ApprovalRow {
  return {
    id,
    kind,
    server,
    profile,
    ...(tool === '' ? {} : { tool }),
    ...(run === undefined ? {} : { run }),
    message,
    asked_at: new Date(askedAtMs).toISOString(),
    expires_at: new Date(askedAtMs + timeoutMs).toISOString(),
  };
}

interface ApprovalPorts {
  readonly approvals: () => Approvals;
  readonly log: Logger;
}

const endings = { approved: 'was approved', denied: 'was denied', timedOut: 'was not answered in time' } as const;

/**
 * Provides the effects of the chart: reports the question and its answer, and logs who allowed what, without arguments and form
 * values (OBS-1).
 */
export function wireApproval({ approvals, log }: ApprovalPorts) {
  return approvalMachine.provide({
    actions: {
      announce: ({ context }) => {
        log.log('info', `${subjectOf(context)} waits for a person`, fieldsOf(context));
        approvals().announced(context);
      },
      reportAnswer: ({ context }) => {
        const verdict = verdictOf(context);
        const by = context.by ?? undefined;
        log.log(by === undefined ? 'warn' : 'info', `${subjectOf(context)} ${endings[verdict]}`, {
          ...fieldsOf(context),
          by,
          ...(context.remember === 'call' ? {} : { remember: context.remember }),
        });
        const { id, values, note } = context;
        approvals().settled(id, { verdict, values, ...(note === null ? {} : { note }) }, context);
      },
    },
  });
}

function subjectOf({ kind, tool, server }: ApprovalContext): string {
  if (kind === 'tool') return `the call of ${tool}`;
  return tool === '' ? `the form of mcp server "${server}"` : `the question of ${tool}`;
}

function fieldsOf({ id, server, profile, run }: ApprovalContext): Record<string, unknown> {
  return { server, profile, run, actor: `approvals/${id}` };
}
