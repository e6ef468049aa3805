/**
 * The open questions of the other gateways of one database, as each of them last answered.
 * @see SCA-3 and TRU-3 in docs/specification.md
 */

import { isDeepStrictEqual } from 'node:util';
import { getOrMake } from '../../machines/base/get-or-make.ts';
import type { Approvals, WaitingQuestion } from '../mcp/approvals.ts';
import type { ApprovalRow } from './contract/approvals.ts';
import type { Nodes } from './contract/gateway.ts';

interface OtherGateway {
  readonly session: string;
  /** Its open questions; rejects if it does not answer. */
  readonly ask: () => Promise<readonly ApprovalRow[]>;
}

/** The age from which the gateways are asked again, and the age from which their answers are not shown any more. */
const freshMs = 2_000;
const outdatedMs = 10_000;

export function createQuestionsElsewhere(
  /** Rejects if the database cannot be queried. */
  others: () => Promise<readonly OtherGateway[]>,
  /** A clock that only rises. */
  steadyMs: () => number,
) {
  const heard = new Map<string, { readonly rows: readonly ApprovalRow[]; readonly atMs: number }>();
  /** The questions that were answered since the gateways were last asked: a list that is on its way may still contain them. */
  const answeredIds = new Map<string, Set<string>>();
  let all: readonly ApprovalRow[] = [];
  let triedAtMs = Number.NEGATIVE_INFINITY;
  let listedAtMs = Number.NEGATIVE_INFINITY;
  let asking: Promise<readonly ApprovalRow[] | undefined> | undefined;

  function gathered(): readonly ApprovalRow[] | undefined {
    const oldestMs = steadyMs() - outdatedMs;
    if (listedAtMs < oldestMs) return undefined;
    const rows = [...heard.values()].flatMap((one) => (one.atMs < oldestMs ? [] : one.rows));
    // The same list stays the same array, so that a reader sees at once that nothing changed.
    if (!isDeepStrictEqual(rows, all)) all = rows;
    return all;
  }

  async function askAll(): Promise<void> {
    answeredIds.clear();
    const living = await others();
    for (const session of heard.keys()) if (!living.some((one) => one.session === session)) heard.delete(session);
    await Promise.all(
      living.map(async ({ session, ask }) => {
        const rows = await ask().catch(() => undefined);
        if (rows === undefined) return;
        const ids = answeredIds.get(session);
        heard.set(session, { rows: rows.filter(({ id }) => !ids?.has(id)), atMs: steadyMs() });
      }),
    );
    listedAtMs = steadyMs();
  }

  function begin(): Promise<readonly ApprovalRow[] | undefined> {
    asking ??= askAll()
      .catch(() => {})
      .then(() => {
        asking = undefined;
        triedAtMs = steadyMs();
        return gathered();
      });
    return asking;
  }

  return {
    /** Returns what is known, or a promise of it; refreshes in the background. @see Nodes.questionsOfOthers */
    known(): readonly ApprovalRow[] | Promise<readonly ApprovalRow[] | undefined> {
      const current = gathered();
      if (steadyMs() - triedAtMs <= freshMs) return current ?? Promise.resolve(undefined);
      const later = begin();
      return current ?? later;
    },
    /** Asks now. Resolves with undefined if the gateways are not known; never rejects. */
    async ask(): Promise<readonly ApprovalRow[] | undefined> {
      // A round that is under way may have begun before the latest question.
      await asking;
      return begin();
    },
    /** A question was answered from here, so it is not open any more. */
    answered(session: string, id: string): void {
      getOrMake(answeredIds, session, () => new Set()).add(id);
      const known = heard.get(session);
      if (known !== undefined) heard.set(session, { ...known, rows: known.rows.filter((row) => row.id !== id) });
    },
  };
}

/** The questions of this gateway and those that are known of others: their runs wait, wherever their events are shown. */
export function questionsEverywhere(
  own: Pick<Approvals, 'ofRun' | 'runsThatWait'>,
  nodes: () => Pick<Nodes, 'questionsOfOthers'> | undefined,
): Pick<Approvals, 'ofRun' | 'runsThatWait'> {
  const elsewhere = (): readonly ApprovalRow[] => {
    const known = nodes()?.questionsOfOthers() ?? [];
    return 'then' in known ? [] : known;
  };
  return {
    ofRun: (run) => [...own.ofRun(run), ...elsewhere().flatMap((row) => (row.run === run ? [questionOf(row)] : []))],
    runsThatWait() {
      const others = elsewhere();
      if (others.length === 0) return own.runsThatWait();
      const oldest = new Map(own.runsThatWait());
      for (const { run, id } of others) if (run !== undefined && !oldest.has(run)) oldest.set(run, id);
      return oldest;
    },
  };
}

function questionOf({ id, server, kind, tool, message, asked_at, expires_at }: ApprovalRow): WaitingQuestion {
  const askedAtMs = Date.parse(asked_at);
  return {
    id,
    server,
    kind,
    message,
    tool: tool ?? '',
    askedAtMs,
    timeoutMs: Date.parse(expires_at) - askedAtMs,
  };
}
