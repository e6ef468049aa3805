/** The catalogue behind the real v1 SDK server: revisions up to 2025-11-25, with the `initialize` handshake. */

import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js';
import {
  CallToolRequestSchema,
  CreateMessageResultSchema,
  ElicitResultSchema,
  GetPromptRequestSchema,
  ListPromptsRequestSchema,
  ListResourcesRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListToolsRequestSchema,
  ReadResourceRequestSchema,
  type ServerNotification,
  type ServerRequest,
} from '@modelcontextprotocol/sdk/types.js';
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

type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>;

/** Makes one server, for one connection. */
export function makeLegacyServer(work: PeerWork, instructions?: string): Server {
  const server = new Server(
    { name: 'legacy-peer', version: '1.0.0' },
    {
      capabilities,
      ...(instructions === undefined ? {} : { instructions }),
    },
  );

  server.setRequestHandler(ListToolsRequestSchema, ({ params }) => listTools(work, params?.cursor) as never);
  server.setRequestHandler(CallToolRequestSchema, ({ params }, extra) =>
    callTool(work, params.name, params.arguments ?? {}, legacyCall(extra)),
  );
  server.setRequestHandler(ListResourcesRequestSchema, () => ({ resources: listedResources }));
  server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({ resourceTemplates }));
  server.setRequestHandler(ReadResourceRequestSchema, ({ params: { uri } }) => readResource(uri, -32_002));
  server.setRequestHandler(ListPromptsRequestSchema, () => ({ prompts }));
  server.setRequestHandler(GetPromptRequestSchema, ({ params }) => greeting(params.arguments));
  return server;
}

function legacyCall(extra: Extra): Call {
  const token = extra._meta?.progressToken;
  return {
    signal: extra.signal,
    ask: (question) => ask(extra, question),
    log: (data) => extra.sendNotification({ method: 'notifications/message', params: { level: 'info', data } }),
    progress: async (progress, total) => {
      if (token === undefined) return;
      await extra.sendNotification({
        method: 'notifications/progress',
        params: { progressToken: token, progress, total },
      });
    },
  };
}

/** The SDK gives a request 60 s by default, which a person or a busy machine may exceed. */
const patient = { timeout: 600_000 };

function ask(extra: Extra, question: Question): Promise<unknown> {
  switch (question.kind) {
    case 'form':
      return extra.sendRequest(
        {
          method: 'elicitation/create',
          params: {
            message: question.message,
            requestedSchema: {
              type: 'object',
              properties: { [question.field]: { type: 'string' }, note: optionalText },
            },
          },
        },
        ElicitResultSchema,
        patient,
      );
    case 'url':
      return extra.sendRequest(
        {
          method: 'elicitation/create',
          params: { mode: 'url', message: question.message, url: question.url, elicitationId: 'asked-once' },
        },
        ElicitResultSchema,
        patient,
      );
    case 'sampling':
      return extra.sendRequest(
        {
          method: 'sampling/createMessage',
          params: { messages: [{ role: 'user', content: { type: 'text', text: question.text } }], maxTokens: 100 },
        },
        CreateMessageResultSchema,
        patient,
      );
    default:
      return question satisfies never;
  }
}
