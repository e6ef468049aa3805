/**
 * Answers the page's commands: the methods of the control socket, one request per POST, as far as `page-methods.ts` allows
 * them to the session.
 * @see INS-2, SEC-1, CLI-3 and DEV-5 in docs/specification.md
 */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FaultCode } from '../../machines/base/fault-catalogue.ts';
import type { JsonObject } from '../../machines/base/json.ts';
import { pageAccessOf } from '../inspector/page-methods.ts';
import { bodyOf } from '../inspector/server.ts';
import { freshMs, type PageGuest } from '../inspector/sessions.ts';
import { answerRequest } from './answer.ts';
import type { CommandHost } from './command.ts';
import { onlyReads } from './methods.ts';
import { formatError, formatNotification, maxLineLength, type RpcRequest, readMessage, rpcCodes } from './protocol.ts';

interface PageRpcPorts {
  readonly host: () => CommandHost;
  readonly redact: (text: string) => string;
}

/** Parameters that are set on the page's requests, whatever the page sent. */
const fromPage: Readonly<Record<string, JsonObject>> = {
  'mcp.login': { from: 'page' },
  'mcp.call': { caller: 'page' },
  'approvals.answer': { by: 'page' },
  'runs.cancel': { by: 'page' },
  'webhook.test': { by: 'page' },
};

const lines = 'application/x-ndjson';
/** A page with more unread notifications is disconnected: it subscribes again and gets the current state. */
const maxUnreadBytes = 4 * 1_048_576;

/** Answers with one JSON-RPC message, preceded by its notifications if the page accepts lines. */
export async function answerPage(
  request: IncomingMessage,
  response: ServerResponse,
  { host, redact, isFresh, guest }: PageRpcPorts & { readonly isFresh: () => boolean; readonly guest: PageGuest },
): Promise<void> {
  const given = await requestOf(request, response);
  if (given === undefined) return;
  const asked = asFromPage(given);
  const asker = { who: guest.who, from: 'page' } as const;
  const refusal = refusalOf(asked, { guest, isFresh });
  if (refusal !== undefined) {
    const { code, why } = refusal;
    const data = code === undefined ? {} : { data: { code } };
    if (guest.role === 'reader') host().audit?.addReader(asker, asked.method, new Error(why));
    else host().audit?.add(asker, asked, new Error(why));
    end(response, 200, formatError(asked.id, { code: rpcCodes.refused, message: `${asked.method}: ${why}`, ...data }));
    return;
  }
  const streams = request.headers.accept?.includes(lines) === true;
  const ends = new Set<() => void>();
  response.on('close', () => {
    for (const one of ends) one();
  });
  // nginx would keep lines back until they fill a buffer.
  if (streams) response.writeHead(200, { 'content-type': lines, 'x-accel-buffering': 'no' });
  let answerBytes = 0;
  const serialize = await answerRequest(asked, host(), {
    redact,
    asker,
    notify: (name, params) => {
      if (!streams || response.writableEnded || response.destroyed) return;
      response.write(formatNotification(name, params));
      if (response.writableLength > maxUnreadBytes + answerBytes) response.destroy();
    },
    onEnd(one) {
      // A command may do other work first, during which the page leaves.
      if (response.destroyed) one();
      else ends.add(one);
      return () => void ends.delete(one);
    },
  });
  if (response.destroyed) return;
  const answer = serialize();
  answerBytes = Buffer.byteLength(answer);
  // The response to a subscription stays open until the page leaves.
  if (streams && subscriptions.has(asked.method)) response.write(answer);
  else if (streams) response.end(answer);
  else end(response, 200, answer);
}

/** Resolves with undefined for a request that cannot be read, which it answers. */
async function requestOf(request: IncomingMessage, response: ServerResponse): Promise<RpcRequest | undefined> {
  const refuse = (status: number, message: string): void =>
    end(response, status, formatError(null, { code: rpcCodes.request, message }));
  if (request.headers['content-type']?.split(';')[0] !== 'application/json') {
    refuse(415, 'the body must be application/json');
    return undefined;
  }
  const body = await bodyOf(request, response, maxLineLength);
  if (body === undefined) {
    refuse(413, 'the body is too long');
    return undefined;
  }
  const message = readMessage(body);
  if (message.kind === 'request') return message.request;
  if (message.kind === 'malformed') end(response, 400, formatError(message.id, message.error));
  else refuse(400, 'the message is no request');
  return undefined;
}

const minutes = freshMs / 60_000;
const notFresh = `needs a link that was opened in the last ${minutes} minutes; run \`agent inspect --web\`, open its link in this browser, then do this again`;

const readOnly = 'this session may only read; `agent inspect --web` opens one that may act';

function refusalOf(
  { method, params }: RpcRequest,
  { guest, isFresh }: { readonly guest: PageGuest; readonly isFresh: () => boolean },
): { readonly code?: FaultCode; readonly why: string } | undefined {
  const access = pageAccessOf(method, params);
  if (access === 'terminalOnly') return { why: 'terminal only' };
  if (guest.role === 'reader' && (access === 'fresh' || !onlyReads(method)))
    return { code: 'page-read-only', why: readOnly };
  return access === 'fresh' && !isFresh() ? { code: 'link-not-fresh', why: notFresh } : undefined;
}

function asFromPage(request: RpcRequest): RpcRequest {
  const said = Object.hasOwn(fromPage, request.method) ? fromPage[request.method] : undefined;
  return said === undefined ? request : { ...request, params: { ...request.params, ...said } };
}

const subscriptions: ReadonlySet<string> = new Set([
  'mcp.watch',
  'approvals.watch',
  'events.follow',
  'inspect.follow',
  'overview.watch',
]);

function end(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(text);
}
