/**
 * Bounds the open connections of a node:http listener, to leave descriptors for everything else. A connection beyond the
 * bound, or beyond the half that one address may hold, closes the one that has been idle longest. A connection with a
 * request in progress is never closed for another; if all have one, the new connection is closed.
 * @see SEC-3 in docs/specification.md
 */

import { readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { senderOf } from './sender.ts';

/** Descriptors for the journal, the log, servers, runs and scripts. */
const reserve = 128;
/** If the system does not report its limit: the usual minimum. */
const defaultDescriptors = 1_024;
/** Fractions of the descriptors beyond the reserve. */
const shares = { webhooks: 0.75, inspector: 0.125 } as const;
/** A connection uses 13 KB, and webhooks never need more connections than this. */
const maxConnections = 20_000;
/** Keep-alive is short from this fraction of the bound on. */
const crowdedFrom = 0.5;
const crowdedKeepAliveMs = 5_000;

/**
 * How many connections a listener may hold: a share of the descriptors beyond the reserve, or of half of them if there
 * are few.
 */
export function connectionLimit(listener: keyof typeof shares, descriptors = descriptorLimit()): number {
  const free = Math.max(descriptors - reserve, descriptors / 2);
  return Math.max(1, Math.min(maxConnections, Math.floor(free * shares[listener])));
}

/** The soft limit of this process, which Node has raised to the hard limit. */
export function descriptorLimit(read = (): string => readFileSync('/proc/self/limits', 'latin1')): number {
  try {
    const [, soft] = /^Max open files\s+(\S+)/m.exec(read()) ?? [];
    return soft === 'unlimited' ? Number.MAX_SAFE_INTEGER : Number(soft) || defaultDescriptors;
  } catch {
    return defaultDescriptors;
  }
}

interface ConnectionBound {
  readonly limit: number;
  /** Whether a connection has a request in progress, or an answer that is not sent yet. */
  readonly isBusy: (socket: Socket) => boolean;
}

/** How many busy connections are skipped in search of an idle one. */
const maxLooks = 64;

/**
 * Bounds the connections that a server accepts from now on. Proxies on this machine, whose pooled connections carry the
 * requests of many senders, keep the long keep-alive and are closed last.
 */
export function boundConnections(server: Server, { limit, isBusy }: ConnectionBound) {
  const perSender = Math.max(1, Math.floor(limit / 2));
  const held = new Map<Socket, Held>();
  /** Connections of addresses with a share, and of those without. */
  const shared = new IdleOrder();
  const local = new IdleOrder();
  const senders = new Map<string, IdleOrder>();

  const forget = (socket: Socket): void => {
    const one = held.get(socket);
    if (one === undefined) return;
    held.delete(socket);
    (one.sender === undefined ? local : shared).delete(one.all);
    if (one.own !== undefined) one.order?.delete(one.own);
    if (one.order?.size === 0 && one.sender !== undefined) senders.delete(one.sender);
  };
  /** Returns false if no idle connection was found. */
  const closeIdle = (order: IdleOrder): boolean => {
    for (let looks = 0; looks < maxLooks; looks += 1) {
      const { socket } = order.first ?? {};
      if (socket === undefined) return false;
      if (isBusy(socket)) used(socket);
      else {
        forget(socket);
        socket.destroy();
        return true;
      }
    }
    return false;
  };
  const used = (socket: Socket): void => {
    const one = held.get(socket);
    if (one === undefined) return;
    (one.sender === undefined ? local : shared).toEnd(one.all);
    if (one.own !== undefined) one.order?.toEnd(one.own);
  };
  const hasRoom = (order: IdleOrder | undefined): boolean => {
    if (order !== undefined && order.size >= perSender) return closeIdle(order);
    return held.size < limit || closeIdle(shared) || closeIdle(local);
  };

  server.on('connection', (socket: Socket) => {
    const sender = senderOf(socket.remoteAddress ?? '');
    if (!hasRoom(sender === undefined ? undefined : senders.get(sender))) {
      socket.destroy();
      return;
    }
    let order = sender === undefined ? undefined : senders.get(sender);
    if (sender !== undefined && order === undefined) {
      order = new IdleOrder();
      senders.set(sender, order);
    }
    const all = (sender === undefined ? local : shared).add(socket);
    held.set(socket, { sender, order, all, own: order?.add(socket) });
    socket.once('close', () => forget(socket));
  });
  return {
    /** Reports that a request has arrived. */
    used,
    /** Reports that an answer was sent. */
    answered(socket: Socket): void {
      used(socket);
      const isCrowded = held.size > limit * crowdedFrom && held.get(socket)?.sender !== undefined;
      // Node has set the listener's own keep-alive on the socket, and clears it at the next request.
      if (isCrowded && !isBusy(socket)) socket.setTimeout(Math.min(server.keepAliveTimeout, crowdedKeepAliveMs));
    },
  };
}

interface Held {
  /** Undefined if its address has no share of its own. */
  readonly sender: string | undefined;
  readonly order: IdleOrder | undefined;
  readonly all: Link;
  readonly own: Link | undefined;
}

interface Link {
  readonly socket: Socket | undefined;
  before: Link;
  after: Link;
}

/** Sockets in the order of their last use. A use moves a link and allocates nothing. */
class IdleOrder {
  readonly #ends: Link = ringOf(undefined);
  size = 0;

  get first(): Link | undefined {
    return this.size === 0 ? undefined : this.#ends.after;
  }

  add(socket: Socket): Link {
    const link = ringOf(socket);
    this.#append(link);
    this.size += 1;
    return link;
  }

  delete({ before, after }: Link): void {
    before.after = after;
    after.before = before;
    this.size -= 1;
  }

  toEnd(link: Link): void {
    link.before.after = link.after;
    link.after.before = link.before;
    this.#append(link);
  }

  #append(link: Link): void {
    const last = this.#ends.before;
    link.before = last;
    link.after = this.#ends;
    last.after = link;
    this.#ends.before = link;
  }
}

function ringOf(socket: Socket | undefined): Link {
  const link: { socket: Socket | undefined; before?: Link; after?: Link } = { socket };
  link.before = link as Link;
  link.after = link as Link;
  return link as Link;
}
