/**
 * Keeps one HTTP server: opens it, moves it to another address, retires it. A new server is open before the old one
 * closes; if the new address cannot be bound, the old server stays. A retired server accepts no further request and
 * answers those it has accepted.
 * @see ADP-1, CFG-2 and CON-2 in docs/specification.md
 */

import { causeOf } from '../../machines/base/fault.ts';
import type { Settings } from '../../machines/config/settings.ts';
import { sameListener } from '../../machines/config/webhook-settings.ts';
import type { GatewayContext } from '../../machines/webhook/gateway.machine.ts';
import type { HttpServer } from './http-server.ts';

export interface HttpServerKeeper {
  /** Resolves with the base URL; rejects with the reason if the address cannot be bound. */
  open(signal: AbortSignal): Promise<GatewayContext>;
  /** Resolves with the new base URL, with the old one and why it stays, or with the reason alone. */
  move(signal: AbortSignal): Promise<GatewayContext>;
  /** Accepts no further request; returns at once. */
  retire(): void;
  /** Resolves when every retired server has answered its requests, or its grace is over. */
  retired(): Promise<void>;
  /** Whether the server listens where these settings require it. */
  standsAs(settings: Settings): boolean;
  /** The server that listens. */
  current(): HttpServer | undefined;
}

interface HttpServerKeeperPorts {
  /** Opens an HTTP server that accepts requests only while `isOpen` returns true. */
  readonly openHttpServer: (at: Settings, isOpen: () => boolean) => Promise<HttpServer>;
  /** The settings to listen by: those of a reload in progress, else those in force. */
  readonly wanted: () => Settings;
  /** How long a retired server may take to answer its requests. */
  readonly graceMs: () => number;
}

interface Standing {
  readonly httpServer: HttpServer;
  readonly at: Settings;
  isOpen: boolean;
}

export function createHttpServerKeeper(ports: HttpServerKeeperPorts): HttpServerKeeper {
  const closings = new Set<Promise<void>>();
  let standing: Standing | undefined;

  /** Rejects if the address cannot be bound, or if `signal` was aborted meanwhile. */
  async function stand(at: Settings, signal: AbortSignal): Promise<Standing> {
    const gate = { isOpen: true };
    const httpServer = await ports.openHttpServer(at, () => gate.isOpen);
    const opened = Object.assign(gate, { httpServer, at });
    if (signal.aborted) {
      close(opened);
      throw new Error('the gateway stops');
    }
    return opened;
  }

  function close(one: Standing): void {
    one.isOpen = false;
    const closing = one.httpServer.close(ports.graceMs()).finally(() => closings.delete(closing));
    closings.add(closing);
  }

  function retire(): void {
    if (standing !== undefined) close(standing);
    standing = undefined;
  }

  return {
    async open(signal) {
      // A crashed gateway left its server behind.
      retire();
      standing = await stand(ports.wanted(), signal);
      return { url: urlOf(standing.httpServer), fault: null };
    },
    async move(signal) {
      const next = ports.wanted();
      const old = standing;
      if (old !== undefined && sameListener(old.at, next)) return { url: urlOf(old.httpServer), fault: null };
      // An address cannot be bound twice, nor beside a wildcard address with the same port.
      const isSamePort = old !== undefined && old.httpServer.port === next.webhook.port;
      if (isSamePort) retire();
      try {
        const moved = await stand(next, signal);
        // The configuration is adopted in this turn of the loop: no request meets the new routes at the old address or
        // vice versa.
        retire();
        standing = moved;
        return { url: urlOf(moved.httpServer), fault: null };
      } catch (thrown) {
        const fault = causeOf(thrown);
        if (old === undefined) return { url: null, fault };
        if (!isSamePort) return stays(fault, old.httpServer);
        try {
          standing = await stand(old.at, signal);
          return stays(fault, standing.httpServer);
        } catch (again) {
          return { url: null, fault: `${fault}; and the old address is lost too: ${causeOf(again)}` };
        }
      }
    },
    retire,
    async retired() {
      while (closings.size > 0) await Promise.all(closings);
    },
    current: () => standing?.httpServer,
    standsAs: (settings) => standing !== undefined && sameListener(standing.at, settings),
  };
}

function stays(fault: string, httpServer: HttpServer): GatewayContext {
  const url = urlOf(httpServer);
  return { url, fault: `${fault}; the last good configuration stays in force, at ${url}` };
}

export function urlOf({ host, port }: HttpServer): string {
  const shown = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host;
  return `http://${shown}:${port}`;
}
