/**
 * The questions that wait for a person: asks them in their ward, lists them, and takes the answers of any surface.
 * @see TRU-3 and SRV-1 in docs/specification.md
 */

import type { Logger } from '../../actors/ports.ts';
import type { Json, JsonObject } from '../../machines/base/json.ts';
import type { WardHandle } from '../../machines/base/ward.ts';
import type { ApprovalContext, ApprovalInput } from '../../machines/mcp/approval.machine.ts';
import type { Remember, RuledCall } from '../../machines/mcp/approval-rules.ts';
import { checkElicitationValues } from '../../machines/mcp/elicitation-values.ts';
import type { AnsweredRow, ApprovalDetail, ApprovalRow } from '../control/contract.ts';
import { answeredRow, createApprovalMemory, type SeenTool } from './approval-memory.ts';

export type ApprovalAnswer = {
  /** `tooMany`: as many questions of the same run or caller are open already, and no person was asked. */
  readonly verdict: 'approved' | 'denied' | 'timedOut' | 'tooMany';
  readonly values: JsonObject | null;
  /** The reason of a denial. */
  readonly note?: string;
};

export interface Question extends Omit<ApprovalInput, 'id' | 'askedAtMs'> {
  /** Who calls, where no run does: `cli`, `page`, `chat`, and each `agent mcp serve` by a name of its own. */
  readonly caller?: string;
  /** The call that waits. Its arguments may hold secrets, so it is not a part of the chart. */
  readonly call?: AskedCall;
}

/** A call that waits for a person, as it would be sent. */
export interface AskedCall extends RuledCall {
  readonly definition: object;
  /** What the model said when it asked for the call. */
  readonly said?: string;
}

/** What a person adds to an answer. */
export interface AnswerMore {
  /** Reaches the caller as the reason of a denial. */
  readonly note?: string;
  readonly remember?: Remember;
}

/** More than a person answers in five minutes: a run or a caller that asks on and on must not bury the others' questions. */
export const mostOpenQuestions = 32;

/** A question as a delivery's story tells it. */
export type WaitingQuestion = Pick<
  ApprovalContext,
  'id' | 'server' | 'kind' | 'tool' | 'message' | 'askedAtMs' | 'timeoutMs'
>;

export type AnswerVerdict =
  | { readonly kind: 'taken' }
  | { readonly kind: 'unknown' }
  /** The values do not fit the form. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** The answer cannot be remembered in this way. */
  | { readonly kind: 'unfit'; readonly reason: string };

export interface Approvals {
  /**
   * Asks; returns the question's id. Answers once, unless it is withdrawn; at once where too many are open.
   * @param runs those that wait for the answer: the run of the question, or each that it may be asked for
   */
  ask(question: Question, answered: (answer: ApprovalAnswer) => void, runs?: readonly string[]): string;
  withdraw(id: string): void;
  answer(id: string, grant: boolean, by: string, values?: JsonObject, more?: AnswerMore): AnswerVerdict;
  list(): readonly ApprovalRow[];
  /** The last answers, newest first. */
  answered(): readonly AnsweredRow[];
  /** The call that a question is about; undefined for a form. */
  callOf(id: string): AskedCall | undefined;
  /** Whether a person allowed a tool for a run (TRU-3). */
  isAllowed(run: string | undefined, tool: SeenTool): boolean;
  show(id: string): ApprovalDetail | undefined;
  /** The questions that a run waits for, oldest first. */
  ofRun(run: string): readonly WaitingQuestion[];
  /** The runs that wait for a person, each with its oldest question's id. */
  runsThatWait(): ReadonlyMap<string, string>;
  /**
   * Calls back when a run begins or ceases to wait for a person. The returned function ends that, and denies what the run
   * still asks: its questions end with it.
   */
  whileAsked(run: string, changed: (waits: boolean) => void): () => void;
  /** Calls back with each question as it is asked, until the returned function is called. */
  onAsked(listener: (row: ApprovalRow) => void): () => void;
  /** Calls back with each answer, until the returned function is called. */
  onAnswered(listener: (row: AnsweredRow) => void): () => void;
  /** The chart of a question has ended, or is announced. */
  settled(id: string, answer: ApprovalAnswer, context?: ApprovalContext): void;
  announced(context: ApprovalContext): void;
}

/**
 * @param mark of this start: an id from an earlier start's list must never name another question now
 */
export function createApprovals(
  ward: () => WardHandle<ApprovalInput>,
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
  /** By run or caller, how many of its questions are open. */
  const openOf = new Map<string, number>();
  const listeners = new Set<(row: ApprovalRow) => void>();
  const answerListeners = new Set<(row: AnsweredRow) => void>();
  const memory = createApprovalMemory();
  let last = 0;

  const contextOf = (id: string): ApprovalContext | undefined => ward().get(id)?.getSnapshot().context;

  /** The open questions of each run that is followed. */
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
      const row = answeredRow(rowOf(context), context, nowMs());
      memory.keep(row);
      for (const listener of answerListeners) listener(row);
    }
    ended(id);
    asked?.answered(answer);
  }

  /** Remembers a yes for the run that asks; undefined where that is possible. */
  function allowForRun(id: string, { run, server, tool }: ApprovalContext): string | undefined {
    const call = waiting.get(id)?.call;
    if (call === undefined || run === undefined) return 'no run asked this, so only this call can be approved';
    if (!followed.has(run)) return 'its run has ended';
    memory.allow(run, { server, tool, definition: call.definition });
    return undefined;
  }

  /** The other open questions of a run that its new rule answers. */
  function grantAlike({ id, run, server, tool }: ApprovalContext, by: string): void {
    const alike: string[] = [];
    ward().each((other, child) => {
      const asked = child.getSnapshot().context as ApprovalContext;
      const call = waiting.get(other)?.call;
      if (other === id || asked.run !== run || asked.server !== server || asked.tool !== tool) return true;
      if (call !== undefined && memory.isAllowed(run, { server, tool, definition: call.definition })) alike.push(other);
      return true;
    });
    for (const other of alike) ward().get(other)?.send({ type: 'approval.grant', by, values: null, remember: 'run' });
  }

  return {
    ask({ caller, call, ...question }, answered, runs = question.run === undefined ? [] : [question.run]) {
      last += 1;
      const id = `a${mark}${last}`;
      const asker = askerOf(question.run, question.profile, caller);
      const open = asker === undefined ? 0 : (openOf.get(asker) ?? 0);
      if (asker !== undefined && open >= mostOpenQuestions) {
        const text = `${asker}: ${mostOpenQuestions} questions are open, and further ones are refused; answer them with \`agent approvals\``;
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
      // There is no room any more, and nobody whom the question would reach.
      if (ward().spawn(id, { ...question, id, askedAtMs: nowMs() }) === undefined)
        settled(id, { verdict: 'denied', values: null });
      return id;
    },
    withdraw(id) {
      ended(id);
      ward().get(id)?.send({ type: 'approval.withdraw' });
    },
    answer(id, grant, by, values, { note, remember = 'call' } = {}) {
      const context = contextOf(id);
      if (context === undefined) return { kind: 'unknown' };
      if (!grant) {
        ward()
          .get(id)
          ?.send({ type: 'approval.deny', by, ...(note === undefined ? {} : { note }) });
        return { kind: 'taken' };
      }
      let checked: JsonObject | null = null;
      if (context.kind === 'form') {
        const verdict = checkElicitationValues(context.detail, values ?? {});
        if (verdict.kind === 'refused') {
          const reason = verdict.findings.map(({ field, message }) => `${field} ${message}`.trim()).join('; ');
          return { kind: 'refused', reason };
        }
        checked = verdict.content;
      }
      const unfit = remember === 'run' ? allowForRun(id, context) : undefined;
      if (unfit !== undefined) return { kind: 'unfit', reason: unfit };
      ward().get(id)?.send({ type: 'approval.grant', by, values: checked, remember });
      if (remember === 'run') grantAlike(context, by);
      return { kind: 'taken' };
    },
    list() {
      const rows: ApprovalRow[] = [];
      ward().each((_, child) => {
        rows.push(rowOf(child.getSnapshot().context as ApprovalContext));
        return true;
      });
      return rows;
    },
    answered: memory.answered,
    callOf: (id) => waiting.get(id)?.call,
    isAllowed: memory.isAllowed,
    show(id) {
      const context = contextOf(id);
      return context === undefined ? undefined : { ...rowOf(context), detail: context.detail as Json };
    },
    ofRun(run) {
      const found: WaitingQuestion[] = [];
      ward().each((_, child) => {
        const context = child.getSnapshot().context as ApprovalContext;
        if (context.run === run) found.push(context);
        return true;
      });
      return found;
    },
    runsThatWait() {
      const oldest = new Map<string, string>();
      ward().each((id, child) => {
        const { run } = child.getSnapshot().context as ApprovalContext;
        if (run !== undefined && !oldest.has(run)) oldest.set(run, id);
        return true;
      });
      return oldest;
    },
    whileAsked(run, changed) {
      const mine = { open: new Set<string>(), changed };
      followed.set(run, mine);
      return () => {
        // The next attempt of a run may be followed already.
        if (followed.get(run) === mine) {
          followed.delete(run);
          memory.forget(run);
        }
        // One that may be asked for another run too goes with the calls that it is asked for.
        for (const id of mine.open)
          if (contextOf(id)?.run === run) ward().get(id)?.send({ type: 'approval.deny', by: 'the end of its run' });
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
      const row = rowOf(context);
      for (const listener of listeners) listener(row);
    },
  };
}

/** Undefined for a form that belongs to no call, or may be for those of several askers: each server has a bound of these. */
function askerOf(run: string | undefined, profile: string, caller: string | undefined): string | undefined {
  if (run !== undefined) return `run/${run}`;
  return caller === undefined ? undefined : `caller/${profile}/${caller}`;
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
