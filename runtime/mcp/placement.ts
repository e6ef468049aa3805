/**
 * Servers that may exist only once among the gateways of a database (`placement: one`): the gateway with a server's lock
 * connects it, and the others use it through that gateway. The lock is released with the session, so the next gateway
 * that needs the server gets it.
 * @see SCA-1 in docs/specification.md
 */

import type { RelayQuestion, RemotePorts } from '../../actors/mcp/remote-session.ts';
import type { Session } from '../../actors/mcp/session.ts';
import { type JournalKeeper, sureWhileLostMs } from '../../actors/store/keeper.ts';
import type { Neighbours } from '../../actors/store/postgres-neighbours.ts';
import { lockName, releaseLock, takeLock } from '../../actors/store/shared-claims.ts';
import { readJson } from '../../machines/base/read-json.ts';
import type { Every } from '../system/ticks.ts';

export interface Placement {
  /**
   * Where a server is connected: here, until `leave` is called, or at another gateway. Rejects if the database does not
   * answer.
   */
  seek(profile: string, server: string, user: PlaceUser): Promise<Place>;
  /** Answers the question of another gateway; undefined if it is not about a server. Does not reject. */
  answer(question: string): Promise<string> | undefined;
  /** Sets what answers the questions. */
  answerBy(relay: Relay): void;
}

interface PlaceUser {
  /** Called once another gateway could have the lock. */
  readonly lost: () => void;
  /** Ends the wait for a journal that is still being opened. */
  readonly signal: AbortSignal;
}

export type Place =
  | { readonly kind: 'here'; readonly leave: () => void }
  | ({ readonly kind: 'there' } & Pick<RemotePorts, 'node' | 'ask' | 'onLook'>);

/** Answers a question about a server that is connected here; resolves with null if it is not. */
export type Relay = (profile: string, server: string, question: RelayQuestion) => Promise<unknown>;

interface PlacementPorts {
  readonly keeper: JournalKeeper;
  readonly neighbours: () => Promise<Neighbours>;
  readonly every: Every;
}

interface Held {
  readonly holder: string;
  readonly life: string | undefined;
  /** One callback per session that has not ended, called when the lock is lost. */
  readonly users: Set<() => void>;
}

const lockOf = (profile: string, server: string): string => `mcp/${profile}/${server}`;
const watchMs = 1_000;
/** A timer may fire some milliseconds early by the clock that measures the loss. */
const timerSlackMs = 50;
/** A notification of another gateway may be missed. */
const lookMs = 10_000;
const maxTries = 3;
/** At the start of a gateway its servers connect while the journal is being opened. */
const openingPauseMs = 1_000;
const maxOpeningPauses = 10;

export function createPlacement({ keeper, neighbours, every }: PlacementPorts): Placement {
  const held = new Map<string, Held>();
  /** Unused locks that are not released yet, with their holders. */
  const left = new Map<string, string>();
  const giving = new Map<string, Promise<void>>();
  let relay: Relay = async () => null;

  const isHeld = ({ life }: Held): boolean => keeper.isSure() && keeper.life() === life;

  /** At once, and with each `watch` until it succeeds. */
  function giveBack(lock: string): Promise<void> {
    const holder = left.get(lock);
    if (holder === undefined) return Promise.resolve();
    const given = releaseLock(keeper, lock, holder).then((isGiven) => {
      if (isGiven && left.get(lock) === holder) left.delete(lock);
      giving.delete(lock);
    });
    giving.set(lock, given);
    return given;
  }

  function watch(): void {
    for (const lock of left.keys()) if (!giving.has(lock)) void giveBack(lock);
    for (const [lock, one] of held) {
      if (isHeld(one)) continue;
      held.delete(lock);
      for (const lost of one.users) lost();
    }
  }

  every(watch, watchMs);
  keeper.heard((news) => {
    // Other gateways may consider its session ended before the next heartbeat.
    if (news === 'lost') setTimeout(watch, sureWhileLostMs + timerSlackMs).unref();
  });

  function use(lock: string, one: Held, lost: () => void): Place {
    // A new function per use, so that equal callbacks are counted separately.
    const user = (): void => lost();
    one.users.add(user);
    return {
      kind: 'here',
      leave() {
        if (!one.users.delete(user) || one.users.size > 0 || held.get(lock) !== one) return;
        held.delete(lock);
        left.set(lock, one.holder);
        void giveBack(lock);
      },
    };
  }

  async function holderOf(profile: string, server: string): Promise<Extract<Place, { kind: 'there' }> | undefined> {
    const claim = await keeper.journal()?.claimed(lockName(lockOf(profile, server)));
    if (claim === undefined) return undefined;
    const all = await neighbours();
    const session = String(claim.session);
    const node = (await all.all()).find((one) => one.session === session)?.node;
    return {
      kind: 'there',
      node: node ?? session,
      async ask(question, waitMs) {
        const answer = await all.ask(session, JSON.stringify({ relay: { profile, server, question } }), waitMs);
        return answer === undefined ? undefined : readJson(answer);
      },
      onLook(look) {
        const stop = [
          every(look, lookMs),
          keeper.heard((news) => {
            if (news === 'session') look();
          }),
        ];
        return () => {
          for (const each of stop) each();
        };
      },
    };
  }

  /** Resolves once the journal is open, after ten seconds, or soon after an abort. */
  function opened(signal: AbortSignal): Promise<void> {
    if (keeper.session() !== undefined) return Promise.resolve();
    return new Promise((resolve) => {
      let pauses = 0;
      const stop = every(() => {
        pauses += 1;
        if (keeper.session() === undefined && !signal.aborted && pauses < maxOpeningPauses) return;
        stop();
        resolve();
      }, openingPauseMs);
    });
  }

  return {
    async seek(profile, server, { lost, signal }) {
      await opened(signal);
      if (keeper.session() === undefined) throw new Error('the journal is not open');
      const lock = lockOf(profile, server);
      for (let tries = 0; tries < maxTries; tries += 1) {
        const standing = held.get(lock);
        if (standing !== undefined && isHeld(standing)) return use(lock, standing, lost);
        // A later release would release the lock that is taken here.
        left.delete(lock);
        await giving.get(lock);
        const life = keeper.life();
        const holder = await takeLock(keeper, lock, '');
        if (holder !== undefined) {
          const one: Held = { holder, life, users: new Set() };
          if (!isHeld(one)) {
            left.set(lock, holder);
            throw new Error('another gateway may have taken it from this one');
          }
          held.set(lock, one);
          return use(lock, one, lost);
        }
        const there = await holderOf(profile, server);
        if (there !== undefined) return there;
      }
      throw new Error('no gateway can be found that has it');
    },

    answer(text) {
      const asked = readJson(text) as { readonly relay?: Asked } | undefined;
      if (asked?.relay === undefined) return undefined;
      const { profile, server, question } = asked.relay;
      // The session here may itself use the server through another gateway.
      if (!held.has(lockOf(profile, server))) return Promise.resolve('null');
      return relay(profile, server, question)
        .then((answer) => JSON.stringify(answer))
        .catch(() => 'null');
    },
    answerBy(given) {
      relay = given;
    },
  };
}

interface Asked {
  readonly profile: string;
  readonly server: string;
  readonly question: RelayQuestion;
}

/** A session whose lock is released when it has closed completely. */
export function placed(session: Session, leave: () => void): Session {
  return {
    ...session,
    close: (why) => session.close(why).finally(leave),
    retire: () => session.retire().finally(leave),
  };
}
