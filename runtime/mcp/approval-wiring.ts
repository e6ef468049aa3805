/**
 * Provides the effects of the approval chart: notifies the caller of the answer and watchers of the question, and logs
 * who allowed what. The log lines contain neither arguments nor form values.
 * @see TRU-3 and OBS-1 in docs/specification.md
 */

import type { Logger } from '../../actors/ports.ts';
import { type ApprovalContext, approvalMachine } from '../../machines/mcp/approval.machine.ts';
import { type Approvals, verdictOf } from './approvals.ts';

export interface ApprovalPorts {
  readonly approvals: () => Approvals;
  readonly log: Logger;
}

const endings = { approved: 'was approved', denied: 'was denied', timedOut: 'was not answered in time' } as const;

export function wireApproval({ approvals, log }: ApprovalPorts) {
  return approvalMachine.provide({
    actions: {
      announce: ({ context }) => {
        log.log('info', `${subjectOf(context)} waits for a person`, fieldsOf(context));
        approvals().announced(context);
      },
      tellAnswer: ({ context }) => {
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
