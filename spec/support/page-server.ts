/** A web server for specs of what fetches pages: answers by path, and knows what was asked. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Test } from 'tap';
import { createFetchPublic, type FetchPublic } from '../../actors/agent/fetch-public.ts';
import { listenHttp } from './http-listener.ts';

export interface PageServer {
  readonly port: number;
  readonly url: string;
  readonly asked: readonly IncomingMessage[];
}

export type Answer = (res: ServerResponse, req: IncomingMessage) => void;

export async function startPageServer(t: Test, pages: Readonly<Record<string, Answer>>): Promise<PageServer> {
  const asked: IncomingMessage[] = [];
  const { url, port } = await listenHttp(t, (req, res) => {
    asked.push(req);
    const answer = pages[req.url?.split('?')[0] ?? ''];
    if (answer === undefined) res.writeHead(404).end();
    else answer(res, req);
  });
  return { port, url, asked };
}

export function page(type: string, body: string | Buffer, headers: Readonly<Record<string, string>> = {}): Answer {
  return (res) => void res.writeHead(200, { 'content-type': type, ...headers }).end(body);
}

/** Fetches where loopback counts as public: that of a spec is all the internet there is. */
export const fetchLoopback: FetchPublic = createFetchPublic({ isAllowed: (address) => address === '127.0.0.1' });
