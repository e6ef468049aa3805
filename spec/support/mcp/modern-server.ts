/** The catalogue behind the real v2 SDK server, revision 2026-07-28: no handshake, questions by returning early. */

import { type InputRequest, inputRequired, Server, type ServerContext } from '@modelcontextprotocol/server';
import {
  type Call,
  callTool,
  capabilities,
  greeting,
  listedResources,
  listTools,
  optionalText,
  type PeerWork,
  prompts,
  type Question,
  readResource,
  resourceTemplates,
} from './catalogue.ts';

export interface ModernOptions {
  readonly instructions?: string;
  /** How long lists stay fresh; 0 by default. */
  readonly ttlMs?: number;
}

/** Makes one server, for one request over HTTP or one connection over stdio. */
export function makeModernServer(work: PeerWork, { instructions, ttlMs = 0 }: ModernOptions = {}): Server {
  const hint = { ttlMs, cacheScope: 'private' } as const;
  const server = new Server(
    { name: 'modern-peer', version: '2.0.0' },
    {
      capabilities,
      cacheHints: { 'tools/list': hint, 'prompts/list': hint, 'resources/list': hint },
      ...(instructions === undefined ? {} : { instructions }),
    },
  );

  server.setRequestHandler('tools/list', ({ params }) => listTools(work, params?.cursor) as never);
  server.setRequestHandler('tools/call', async ({ params }, context) => {
    try {
      return await callTool(work, params.name, params.arguments ?? {}, modernCall(context));
    } catch (thrown) {
      if (thrown instanceof Unanswered)
        return inputRequired({ inputRequests: { answer: thrown.request }, requestState: 'round-1' });
      throw thrown;
    }
  });
  server.setRequestHandler('resources/list', () => ({ resources: listedResources }));
  server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates }));
  server.setRequestHandler('resources/read', ({ params: { uri } }) => readResource(uri, -32_602));
  server.setRequestHandler('prompts/list', () => ({ prompts }));
  server.setRequestHandler('prompts/get', ({ params }) => greeting(params.arguments));
  return server;
}

/** Leaves a tool in its middle: the client asks its user and calls the tool again with the answer. */
class Unanswered extends Error {
  readonly request: InputRequest;

  constructor(request: InputRequest) {
    super('the client has not answered yet');
    this.request = request;
  }
}

function modernCall({ mcpReq }: ServerContext): Call {
  const token = mcpReq._meta?.progressToken;
  return {
    signal: mcpReq.signal,
    ask: async (question) => {
      const answer = mcpReq.inputResponses?.answer;
      if (answer === undefined) throw new Unanswered(requestFor(question));
      return answer;
    },
    log: (text) => mcpReq.log('info', text),
    progress: async (progress, total) => {
      if (token === undefined) return;
      await mcpReq.notify({ method: 'notifications/progress', params: { progressToken: token, progress, total } });
    },
  };
}

function requestFor(question: Question): InputRequest {
  switch (question.kind) {
    case 'form':
      return inputRequired.elicit({
        message: question.message,
        requestedSchema: { type: 'object', properties: { [question.field]: { type: 'string' }, note: optionalText } },
      });
    case 'url':
      return inputRequired.elicitUrl({ message: question.message, url: question.url });
    case 'sampling':
      return inputRequired.createMessage({
        messages: [{ role: 'user', content: { type: 'text', text: question.text } }],
        maxTokens: 100,
      });
    default:
      return question satisfies never;
  }
}
