/**
 * The loopback listener of a browser login: bound when its port is chosen, open until the redirect has come. Answers the
 * browser with a page of one sentence and returns the query. Other requests are refused and change nothing.
 * @see OAU-6 in docs/specification.md
 * @see [RFC 8252 §7.3](https://www.rfc-editor.org/rfc/rfc8252.html#section-7.3)
 */

import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { CallbackPlan } from '../../machines/oauth/callback-port.ts';

export interface CallbackListener {
  readonly port: number;
  /** Resolves with the query of the first request with this state; rejects when the signal aborts. */
  redirect(state: string, signal: AbortSignal): Promise<string>;
  close(): void;
}

/** Rejects if a fixed port is in use. */
export async function listenForRedirect(
  plan: CallbackPlan,
  path = '/callback',
  host = '127.0.0.1',
): Promise<CallbackListener> {
  const server = await bind(plan, host);
  let waiting: { readonly state: string; readonly resolve: (query: string) => void } | undefined;
  server.on('request', (request, response) => {
    const { pathname, query } = targetOf(request.url ?? '/');
    const isOurs =
      request.method === 'GET' &&
      pathname === path &&
      waiting !== undefined &&
      new URLSearchParams(query).get('state') === waiting.state;
    response.writeHead(isOurs ? 200 : pathname === path ? 400 : 404, {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      connection: 'close',
      'content-security-policy': "default-src 'none'",
    });
    response.end(
      page(isOurs ? 'The answer has arrived. You can close this window.' : 'This is not a login under way.'),
    );
    if (isOurs) waiting?.resolve(query);
  });
  return {
    port: (server.address() as AddressInfo).port,
    redirect: (state, signal) =>
      new Promise((resolve, reject) => {
        const stop = (): void => {
          waiting = undefined;
          reject(signal.reason);
        };
        signal.addEventListener('abort', stop, { once: true });
        waiting = {
          state,
          resolve(query) {
            signal.removeEventListener('abort', stop);
            waiting = undefined;
            resolve(query);
          },
        };
      }),
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Parsed by hand: any page may request any target, and `URL` throws for some. */
function targetOf(target: string): { readonly pathname: string; readonly query: string } {
  const at = target.indexOf('?');
  return at === -1 ? { pathname: target, query: '' } : { pathname: target.slice(0, at), query: target.slice(at + 1) };
}

async function bind(plan: CallbackPlan, host: string): Promise<Server> {
  switch (plan.kind) {
    case 'random':
      return listen(0, host);
    case 'fixed':
      return listen(plan.port, host);
    case 'pinned':
      for (const port of plan.ports) {
        try {
          return await listen(port, host);
        } catch (thrown) {
          if ((thrown as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw thrown;
        }
      }
      return listen(0, host);
  }
}

function listen(port: number, host: string): Promise<Server> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    // Stays: a connection that cannot be accepted for lack of descriptors also raises an error event.
    server.on('error', reject);
    server.listen(port, host, () => resolve(server));
  });
}

function page(sentence: string): string {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>Login</title><p>${sentence}</p></html>`;
}
