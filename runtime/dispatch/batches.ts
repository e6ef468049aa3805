/** Provides the effect of the batch chart: a settled batch becomes a run, in the commit that ends its record. */

import type { Logger } from '../../actors/ports.ts';
import type { JournalKeeper } from '../../actors/store/keeper.ts';
import { inFlightClaim } from '../../actors/store/shared-claims.ts';
import type { Batches } from '../../actors/webhook/batches.ts';
import type { Batch } from '../../machines/webhook/coalesce.ts';
import { coalescingGroupMachine, type GroupInput } from '../../machines/webhook/coalescing-group.machine.ts';
import type { RunRecord } from '../../machines/webhook/record.ts';
import type { RunPlace } from '../../machines/webhook/work-queue.ts';
import type { WorkPools } from '../system/work-pools.ts';
import { logUnforeseen } from './work-log.ts';

interface GroupPorts {
  readonly batches: Batches;
  readonly keeper: JournalKeeper;
  /** Whether one more run may wait in memory. */
  readonly hasRoom: (run: RunPlace) => boolean;
  readonly nowMs: () => number;
  readonly pools: () => WorkPools;
  readonly log: Logger;
}

export function wireGroup(ports: GroupPorts) {
  return coalescingGroupMachine.provide({
    actions: {
      openRun: ({ context, self }) => {
        const nowMs = ports.nowMs();
        const { keeper } = ports;
        // The batch's claim keeps its runs apart at any gateway that adopts this one. A single gateway uses its chart for
        // that.
        const isLeft = keeper.isShared() && !ports.hasRoom(context);
        const session = isLeft ? undefined : keeper.session();
        let opened: { key: string; record: RunRecord } | undefined;
        let hasLanded = false;
        let news: Batch | undefined;
        ports.batches
          .close(context.key, (burst, isNews) => {
            // An event arrived at another gateway, so the batch keeps collecting. The run that was to open before is void.
            if (isNews && burst.dueAtMs > nowMs) {
              news = burst;
              opened = undefined;
              return undefined;
            }
            const record = runOfBatch(context, burst, nowMs);
            // The run has the batch's id, which the batch's events already name as their work.
            opened = { key: burst.id, record };
            return [
              ...inFlightClaim(keeper, context.key, burst.id),
              {
                kind: 'put',
                collection: 'runs',
                key: burst.id,
                value: record,
                dueAtMs: nowMs,
                ...(session === undefined ? {} : { heldBy: session }),
              },
            ];
          })
          .then((verdict) => {
            const atMs = ports.nowMs();
            if (verdict.kind === 'committed' && opened !== undefined) {
              hasLanded = true;
              self.send({ type: 'run.opened', run: opened.key, atMs });
              if (isLeft) self.send({ type: 'run.finished', run: opened.key, atMs });
              else ports.pools().open({ kind: 'run', ...opened });
            } else if (opened === undefined) {
              if (news !== undefined) self.send({ type: 'event.joined', burst: news, atMs });
              self.send({ type: 'batch.gone', atMs });
            } else {
              self.send({ type: 'run.refused', atMs });
            }
          })
          .catch((thrown: unknown) => {
            logUnforeseen(ports.log, `groups/${context.key}`, thrown);
            const atMs = ports.nowMs();
            if (!hasLanded || opened === undefined) {
              self.send({ type: 'run.refused', atMs });
              return;
            }
            // The run is on disk and the next start runs it. This process never reports its end, so the batch is ended here.
            self.send({ type: 'run.opened', run: opened.key, atMs });
            self.send({ type: 'run.finished', run: opened.key, atMs });
          });
      },
    },
  });
}

/** The run of a batch, as it begins to wait. */
export function runOfBatch(
  { key, profile, route }: Pick<GroupInput, 'key' | 'profile' | 'route'>,
  burst: Batch,
  nowMs: number,
): RunRecord {
  return {
    eventKey: burst.latestEventKey,
    profile,
    route,
    kind: 'agent',
    status: 'queued',
    attempt: 0,
    queuedAtMs: nowMs,
    group: key,
    superseded: burst.count - 1 - (burst.earlierKeys?.length ?? 0),
    ...(burst.earlierKeys === undefined ? {} : { earlierKeys: burst.earlierKeys }),
    ...(burst.isDirect === undefined ? {} : { isDirect: burst.isDirect }),
  };
}
