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
  SubscribeRequestSchema,
  type Tool,
  UnsubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import {
  type Call,
  callTool,
  contentOf,
  listTools,
  type PeerWork,
  prompts,
  type Question,
  resources,
  resourceTemplates,
} from './catalogue.ts';

type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>;

export interface LegacyServer {
  readonly server: Server;
  /** The resources that the client subscribed to. */
  readonly subscribed: ReadonlySet<string>;
}

/** Makes one server, for one connection. */
export function makeLegacyServer(work: PeerWork, instructions?: string): LegacyServer {
  const server = new Server(
    { name: 'legacy-peer', version: '1.0.0' },
    {
      capabilities: {
        tools: { listChanged: true },
        resources: { listChanged: true, subscribe: true },
        prompts: { listChanged: true },
        logging: {},
      },
      ...(instructions === undefined ? {} : { instructions }),
    },
  );
  const subscribed = new Set<string>();

  server.setRequestHandler(ListToolsRequestSchema, ({ params }) => {
    const { tools, nextCursor } = listTools(work, params?.cursor);
    return { tools: tools as Tool[], ...(nextCursor === undefined ? {} : { nextCursor }) };
  });
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra) => {
    const answer = await callTool(work, params.name, params.arguments ?? {}, legacyCall(extra));
    const { structured, isError } = answer;
    return {
      content: contentOf(answer),
      ...(structured === undefined ? {} : { structuredContent: { ...structured } }),
      ...(isError === undefined ? {} : { isError }),
    };
  });
  server.setRequestHandler(ListResourcesRequestSchema, () => ({
    resources: resources.map(({ uri, name, description, mimeType }) => ({ uri, name, description, mimeType })),
  }));
  server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({ resourceTemplates }));
  server.setRequestHandler(ReadResourceRequestSchema, ({ params: { uri } }) => {
    const resource = resources.find((one) => one.uri === uri);
    if (resource === undefined)
      throw Object.assign(new Error(`Resource not found: ${uri}`), { code: -32002, data: { uri } });
    return { contents: [resource] };
  });
  server.setRequestHandler(SubscribeRequestSchema, ({ params: { uri } }) => {
    subscribed.add(uri);
    return {};
  });
  server.setRequestHandler(UnsubscribeRequestSchema, ({ params: { uri } }) => {
    subscribed.delete(uri);
    return {};
  });
  server.setRequestHandler(ListPromptsRequestSchema, () => ({ prompts }));
  server.setRequestHandler(GetPromptRequestSchema, ({ params }) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `Greet ${params.arguments?.who ?? 'nobody'}` } }],
  }));
  return { server, subscribed };
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
            requestedSchema: { type: 'object', properties: { [question.field]: { type: 'string' } } },
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
