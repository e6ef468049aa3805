/**
 * Stores the last work that this gateway has adopted from stopped gateways of the database.
 * @see SCA-2 and SCA-3 in docs/specification.md
 */

import type { Taken } from '../../actors/store/journal.ts';
import type { JournalKeeper } from '../../actors/store/keeper.ts';
import type { RecoveredWork } from '../control/contract/gateway.ts';

const max = 20;

export function createRecoveredWork({
  keeper,
  nowMs,
}: {
  readonly keeper: Pick<JournalKeeper, 'node' | 'ownerOf'>;
  readonly nowMs: () => number;
}) {
  const rows: RecoveredWork[] = [];
  return {
    /** Records work that was just taken, if another gateway held it before. */
    note({ from, value }: Taken<'deliveries' | 'groups' | 'runs'>): void {
      const node = from === undefined ? undefined : keeper.ownerOf(from);
      // The name of a gateway that stopped before this one started is unknown; the own name is that of an earlier process.
      if (node === undefined || node === keeper.node()) return;
      const { profile, route } = value;
      rows.unshift({ at: new Date(nowMs()).toISOString(), from: node, profile, route, ...workOf(value) });
      rows.splice(max);
    },
    /** Newest first. */
    rows: (): readonly RecoveredWork[] => rows,
  };
}

function workOf(
  value: Taken<'deliveries' | 'groups' | 'runs'>['value'],
): Pick<RecoveredWork, 'event' | 'kind' | 'target'> {
  if ('burst' in value) return { kind: 'batch', event: value.burst.latestEventKey };
  if ('target' in value) return { kind: 'delivery', event: value.eventKey, target: value.target };
  return { kind: 'run', event: value.eventKey };
}
