/**
 * What may make a usable database lose data, or confuse its gateways, or will soon keep one from using it.
 * @see DUR-1 and SCA-1 in docs/specification.md
 */

import type { DatabaseState } from './postgres-examination.ts';

interface DatabaseRisk {
  readonly level: 'warning' | 'wrong';
  readonly code: 'clock-skew' | 'database-loses' | 'database-waits' | 'node-shared';
  readonly what: string;
  readonly cure: string;
}

const noticeableMs = 5_000;
/** A gateway whose clock differs by more accepts no work. */
const refusedMs = 60_000;

export function risksOf(state: DatabaseState): readonly DatabaseRisk[] {
  const names = state.shared.map((name): DatabaseRisk => {
    const what = `several gateways use the name "${name}"`;
    return { level: 'warning', code: 'node-shared', what, cure: 'set gateway.node to a name of its own at each' };
  });
  return [...lossesOf(state), ...skewOf(state), ...names];
}

const waits: DatabaseRisk = {
  level: 'wrong',
  code: 'database-waits',
  what: 'commits wait for a standby, and none is connected, so requests are answered 503',
  cure: 'start the standby that synchronous_standby_names names, or clear that setting',
};

function lossesOf({ fsync, synchronousCommit, standbys, awaited }: DatabaseState): readonly DatabaseRisk[] {
  const losing = (what: string, cure: string): DatabaseRisk => ({
    level: 'warning',
    code: 'database-loses',
    what,
    cure,
  });
  if (!fsync) return [losing('fsync is off, so a power cut can lose events that were acknowledged', 'set fsync = on')];
  if (standbys === 0) return awaited === '' || synchronousCommit === 'local' ? [] : [waits];
  const loss = 'a failover can lose events that were acknowledged';
  if (awaited === '') {
    return [
      losing(
        `${standbys === 1 ? 'a standby is' : `${standbys} standbys are`} connected, but commits wait for none: ${loss}`,
        'set synchronous_standby_names on the primary, or never fail over to these',
      ),
    ];
  }
  if (synchronousCommit === 'local')
    return [losing(`synchronous_commit is local: ${loss}`, "set synchronous_commit = on for the gateway's user")];
  return [];
}

function skewOf({ aheadMs }: DatabaseState): readonly DatabaseRisk[] {
  const skewMs = Math.abs(aheadMs);
  if (skewMs < noticeableMs) return [];
  const seconds = Math.round(skewMs / 1_000);
  return [
    {
      level: skewMs > refusedMs ? 'wrong' : 'warning',
      code: 'clock-skew',
      what: `its clock is ${seconds} s ${aheadMs > 0 ? 'ahead of' : 'behind'} that of this machine`,
      cure: 'synchronize both clocks, as with chrony or systemd-timesyncd',
    },
  ];
}
