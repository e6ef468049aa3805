/**
 * Keeps the one front that stands: opens it, moves it to another address, retires it. A new front is open before the old
 * one closes; where the new address cannot be bound, the old front stays. A front that retires takes no further request and answers those it took.
 * @see ADP-1, CFG-2 and CON-2 in docs/specification.md
 */

import { causeOf } from '../../machines/base/fault.ts';
import { sameListener } from '../../machines/config/reload.ts';
import type { Settings } from '../../machines/config/settings.ts';
import type { FrontMove } from '../../machines/webhook/gateway.machine.ts';
import type { Front } from './front.ts';

export interface FrontKeeper {
  /** Resolves with the base URL; rejects with why the address cannot be bound. */
  open(signal: AbortSignal): Promise<{ readonly url: string }>;
  move(signal: AbortSignal): Promise<FrontMove>;
  /** Takes no further request; returns at once. */
  retire(): void;
  /** Resolves when every front that retired has answered what it took, or its grace is over. */
  retired(): Promise<void>;
  /** Whether the front stands where these settings want it. */
  standsAs(settings: Settings): boolean;
  stands(): boolean;
}

export interface FrontKeeperPorts {
  /** Opens a front that answers only while `isOpen` says so. */
  readonly openFront: (at: Settings, isOpen: () => boolean) => Promise<Front>;
  /** The settings to listen by: those that a reload has read, else those in force. */
  readonly wanted: () => Settings;
  /** How long a retired front may answer what it took. */
  readonly graceMs: () => number;
}

interface Standing {
  readonly front: Front;
  readonly at: Settings;
  isOpen: boolean;
}

export function createFrontKeeper(ports: FrontKeeperPorts): FrontKeeper {
  const closings = new Set<Promise<void>>();
  let standing: Standing | undefined;

  /** Throws where the address cannot be bound, or where nobody waits for the front any more. */
  async function stand(at: Settings, signal: AbortSignal): Promise<Standing> {
    const gate = { isOpen: true };
    const front = await ports.openFront(at, () => gate.isOpen);
    const opened = Object.assign(gate, { front, at });
    if (signal.aborted) {
      close(opened);
      throw new Error('the gateway stops');
    }
    return opened;
  }

  function close(one: Standing): void {
    one.isOpen = false;
    const closing = one.front.close(ports.graceMs()).finally(() => closings.delete(closing));
    closings.add(closing);
  }

  function retire(): void {
    if (standing !== undefined) close(standing);
    standing = undefined;
  }

  return {
    async open(signal) {
      // A gateway that crashed left its front behind.
      retire();
      standing = await stand(ports.wanted(), signal);
      return { url: urlOf(standing.front) };
    },
    async move(signal) {
      const next = ports.wanted();
      const old = standing;
      if (old !== undefined && sameListener(old.at, next)) return { kind: 'moved', url: urlOf(old.front) };
      // An address cannot be bound twice, nor beside the one that stands for all addresses.
      const isSamePort = old !== undefined && old.front.port === next.webhook.port;
      if (isSamePort) retire();
      try {
        const moved = await stand(next, signal);
        // The configuration is adopted in this turn of the loop: no request meets the new routes at the old address or the
        // other way round.
        retire();
        standing = moved;
        return { kind: 'moved', url: urlOf(moved.front) };
      } catch (thrown) {
        const fault = causeOf(thrown);
        if (old === undefined) return { kind: 'lost', fault };
        if (!isSamePort) return { kind: 'stayed', url: urlOf(old.front), fault: stays(fault, old.front) };
        try {
          standing = await stand(old.at, signal);
          return { kind: 'stayed', url: urlOf(standing.front), fault: stays(fault, standing.front) };
        } catch (again) {
          return { kind: 'lost', fault: `${fault}; and the old address is lost too: ${causeOf(again)}` };
        }
      }
    },
    retire,
    async retired() {
      while (closings.size > 0) await Promise.all(closings);
    },
    stands: () => standing !== undefined,
    standsAs: (settings) => standing !== undefined && sameListener(standing.at, settings),
  };
}

function stays(fault: string, front: Front): string {
  return `${fault}; the last good configuration stays in force, at ${urlOf(front)}`;
}

export function urlOf({ host, port }: Front): string {
  const shown = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host;
  return `http://${shown}:${port}`;
}
