/**
 * Closes connections in stages, so that the last answer is not lost. A socket that is closed with bytes unread in its
 * receive buffer sends a TCP reset, and a client that is still sending then fails before it reads the answer.
 * @see [RFC 9112 §9.6](https://www.rfc-editor.org/rfc/rfc9112.html#section-9.6), RTE-4 in docs/specification.md
 */

import type { Socket } from 'node:net';

export interface LingerLimits {
  readonly waitMs: number;
  /** Bytes that are read and discarded per connection. */
  readonly bytes: number;
  /** Above this number, the connection that has lingered longest is closed. */
  readonly connections: number;
}

/**
 * Some senders read only after they have written their complete body, so it must be read; 8 MiB is eight times the
 * default `max_body_bytes`. Apache's idle limit (SECONDS_TO_LINGER) is 2 s too.
 */
export const lingerLimits: LingerLimits = { waitMs: 2_000, bytes: 8 * 1_048_576, connections: 1_000 };

/**
 * Returns a function that closes a socket: what was written is flushed, FIN is sent, and what the client still sends is
 * discarded until it closes too or a limit is reached.
 */
export function createLingering({ waitMs, bytes, connections }: LingerLimits): (socket: Socket) => void {
  const lingering = new Set<Socket>();
  return (socket) => {
    if (socket.destroyed || lingering.has(socket)) return;
    lingering.add(socket);
    const timer = setTimeout(() => socket.destroy(), waitMs);
    socket.once('close', () => {
      clearTimeout(timer);
      lingering.delete(socket);
    });
    let left = bytes;
    // No parser sees these bytes: nothing that follows a close may be processed.
    socket.removeAllListeners('data');
    socket.on('data', ({ length }: Buffer) => {
      left -= length;
      if (left < 0) socket.destroy();
    });
    socket.once('end', () => socket.destroy());
    socket.end();
    socket.resume();
    // Without its parser the socket would not resume after node:http had paused it for an unread body.
    socket._read(0);
    const [longest] = lingering;
    if (lingering.size > connections) longest?.destroy();
  };
}
