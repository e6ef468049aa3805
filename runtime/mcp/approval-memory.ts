/**
 * Stores what follows from answers: the tools that a person allowed for a run, until the run ends, and a bounded list of
 * the answers. In memory only.
 * @see TRU-1 and TRU-3 in docs/specification.md
 */

import type { ApprovalContext } from '../../machines/mcp/approval.machine.ts';
import type { AnsweredRow, ApprovalRow } from '../control/contract.ts';

/** A tool as it was shown to a person. */
export interface SeenTool {
  readonly server: string;
  readonly tool: string;
  readonly definition: object;
}

export interface ApprovalMemory {
  /** Allows a run to call a tool without a further question. */
  allow(run: string, tool: SeenTool): void;
  /** Whether a person allowed the tool for this run, and its definition has not changed since. */
  isAllowed(run: string | undefined, tool: SeenTool): boolean;
  forget(run: string): void;
  keep(row: AnsweredRow): void;
  /** Newest first. */
  answered(): readonly AnsweredRow[];
}

const mostAnswered = 100;

export function createApprovalMemory(): ApprovalMemory {
  const allowed = new Map<string, Map<string, string>>();
  const kept: AnsweredRow[] = [];

  return {
    allow(run, { server, tool, definition }) {
      const tools = allowed.get(run) ?? new Map<string, string>();
      tools.set(`${server}/${tool}`, JSON.stringify(definition));
      allowed.set(run, tools);
    },
    isAllowed(run, { server, tool, definition }) {
      const seen = run === undefined ? undefined : allowed.get(run)?.get(`${server}/${tool}`);
      return seen !== undefined && seen === JSON.stringify(definition);
    },
    forget: (run) => void allowed.delete(run),
    keep(row) {
      kept.unshift(row);
      kept.length = Math.min(kept.length, mostAnswered);
    },
    answered: () => [...kept],
  };
}

/** @param row the question as it was listed */
export function answeredRow(row: ApprovalRow, context: ApprovalContext, atMs: number): AnsweredRow {
  const { by, granted, remember, note } = context;
  return {
    ...row,
    verdict: by === null ? 'timedOut' : granted ? 'approved' : 'denied',
    answered_at: new Date(atMs).toISOString(),
    ...(by === null ? {} : { by }),
    ...(granted ? { remember } : {}),
    ...(note === null ? {} : { note }),
  };
}
