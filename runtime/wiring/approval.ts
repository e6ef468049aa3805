/** Fills the holes of the approval chart: whoever asked hears the answer, whoever watches hears the question. */

import { approvalMachine } from '../../machines/mcp/approval.machine.ts';
import type { Approvals } from '../mcp/approvals.ts';

export function wireApproval(approvals: () => Approvals) {
  return approvalMachine.provide({
    actions: {
      announce: ({ context }) => approvals().announced(context),
      tellAnswer: ({ context }) => {
        // A question without anybody who answered ran out of time.
        const verdict = context.by === null ? 'timedOut' : context.granted ? 'approved' : 'denied';
        approvals().settled(context.id, { verdict, values: context.values });
      },
    },
  });
}
