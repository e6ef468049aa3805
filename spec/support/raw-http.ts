/** A raw HTTP connection: bytes out, bytes in, nothing tidied up on the way. */

import { connect, type Socket } from 'node:net';

export interface RawConnection {
  readonly socket: Socket;
  write(bytes: string | Buffer): void;
  /** Resolves with everything received once it fits, or once the peer has closed. */
  received(fits: (text: string) => boolean): Promise<string>;
  readonly closed: Promise<void>;
}

/** Opens a connection, and writes what is given. */
export function openRaw(port: number, bytes: string | Buffer = '', host = '127.0.0.1'): Promise<RawConnection> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host, noDelay: true }, () => {
      const opened = connection(socket);
      if (bytes.length > 0) opened.write(bytes);
      resolve(opened);
    });
    socket.once('error', reject);
  });
}

function connection(socket: Socket): RawConnection {
  let text = '';
  let over = false;
  const looks = new Set<() => void>();
  const look = (): void => {
    for (const one of looks) one();
  };
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1');
    look();
  });
  socket.on('error', () => {});
  const closed = new Promise<void>((resolve) => {
    socket.on('close', () => {
      over = true;
      look();
      resolve();
    });
  });
  return {
    socket,
    closed,
    write: (bytes) => void socket.write(bytes),
    received: (fits) =>
      new Promise((resolve) => {
        const check = (): void => {
          if (!fits(text) && !over) return;
          looks.delete(check);
          resolve(text);
        };
        looks.add(check);
        check();
      }),
  };
}

/** How many whole answers a text holds; their bodies are short and need no reading. */
export function answersIn(text: string): string[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => status ?? '');
}
