/**
 * What every test peer offers, whatever its era and transport: tools, resources and prompts, and a record of what was
 * executed. Knows nothing of the two SDKs; legacy-server.ts and modern-server.ts put it behind them.
 */

export type Args = Readonly<Record<string, unknown>>;

export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: { readonly type: 'object'; readonly [keyword: string]: unknown };
  readonly outputSchema?: { readonly type: 'object'; readonly [keyword: string]: unknown };
  readonly annotations?: Readonly<Record<string, boolean | string>>;
  readonly title?: string;
  readonly icons?: { src: string }[];
  readonly _meta?: Readonly<Record<string, unknown>>;
}

export type Question =
  | { readonly kind: 'form'; readonly message: string; readonly field: string }
  | { readonly kind: 'url'; readonly message: string; readonly url: string }
  | { readonly kind: 'sampling'; readonly text: string };

/** A field that need not be filled in, as Python's SDK writes it; the types of the protocol have no such field. */
export const optionalText = { anyOf: [{ type: 'string' }, { type: 'null' }], default: null } as never;

/** What a tool may do while it runs. */
export interface Call {
  readonly signal: AbortSignal;
  /** Asks the client; on the modern era the tool runs again from its start once the answer is there. */
  ask(question: Question): Promise<unknown>;
  log(text: string): Promise<void>;
  progress(done: number, total: number): Promise<void>;
}

export interface ToolAnswer {
  readonly text: string;
  /** A picture, in base64. */
  readonly image?: string;
  readonly structured?: Readonly<Record<string, unknown>>;
  readonly isError?: boolean;
}

/** An answer as a result of the protocol. */
function resultOf({ text, image, structured, isError }: ToolAnswer) {
  const words = { type: 'text' as const, text };
  return {
    content: image === undefined ? [words] : [words, { type: 'image' as const, data: image, mimeType: 'image/png' }],
    ...(structured === undefined ? {} : { structuredContent: { ...structured } }),
    ...(isError === undefined ? {} : { isError }),
  };
}

export interface PeerTool {
  readonly definition: ToolDefinition;
  run(args: Args, call: Call, work: PeerWork): ToolAnswer | Promise<ToolAnswer>;
}

export interface SlowCall {
  state: 'waiting' | 'released' | 'cancelled';
  release(): void;
}

/** The state of one peer; it outlives sessions and restarts, so that a spec can count across them. */
export interface PeerWork {
  tools: readonly PeerTool[];
  /** Every execution of a tool, in order. A question asked on the modern era makes two of one call. */
  readonly calls: { readonly tool: string; readonly args: Args }[];
  readonly slow: SlowCall[];
  /** How many tools one page of tools/list holds. */
  readonly pageSize: number;
  /** Runs before a tool does. */
  beforeCall?: (tool: string, args: Readonly<Record<string, unknown>>) => void;
  /** Runs when a list of tools is about to be answered. */
  beforeList?: () => void;
}

const anyObject = { type: 'object' } as const;
const withText = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] } as const;

export const standardTools: readonly PeerTool[] = [
  {
    definition: {
      name: 'echo',
      description: 'Says the text again',
      inputSchema: withText,
      annotations: { readOnlyHint: true },
    },
    run: ({ text }) => ({ text: String(text) }),
  },
  {
    definition: {
      name: 'add',
      description: 'Adds two numbers',
      inputSchema: {
        type: 'object',
        properties: { a: { type: 'number' }, b: { type: 'number' } },
        required: ['a', 'b'],
      },
      outputSchema: { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] },
      annotations: { readOnlyHint: true },
    },
    run: ({ a, b }) => {
      const sum = Number(a) + Number(b);
      return { text: String(sum), structured: { sum } };
    },
  },
  {
    definition: { name: 'write_note', description: 'Writes a note, each time it is called', inputSchema: withText },
    run: (_args, _call, work) => ({ text: `note ${executions(work, 'write_note')}` }),
  },
  {
    definition: {
      name: 'slow',
      description: 'Waits until it is released or cancelled',
      inputSchema: anyObject,
      annotations: { readOnlyHint: true },
    },
    run: (_args, call, work) => waitForRelease(call.signal, work),
  },
  {
    definition: { name: 'fail', description: 'Fails, and says so as a result', inputSchema: anyObject },
    run: () => ({ text: 'it failed as asked', isError: true }),
  },
  {
    definition: { name: 'ask', description: 'Asks for a form', inputSchema: anyObject },
    run: async (_args, call) => told(await call.ask({ kind: 'form', message: 'What is your name?', field: 'name' })),
  },
  {
    definition: { name: 'ask_url', description: 'Asks to open an address', inputSchema: anyObject },
    run: async (_args, call) =>
      told(await call.ask({ kind: 'url', message: 'Please sign in', url: 'https://sign-in.invalid/start' })),
  },
  {
    definition: { name: 'sample', description: 'Asks the model of the client', inputSchema: anyObject },
    run: async (_args, call) => told(await call.ask({ kind: 'sampling', text: 'Say hello' })),
  },
  {
    definition: { name: 'log', description: 'Sends a logging message', inputSchema: withText },
    run: async ({ text }, call) => {
      await call.log(String(text));
      return { text: 'logged' };
    },
  },
  {
    definition: {
      name: 'progress',
      description: 'Reports its progress: steps, one each everyMs',
      inputSchema: anyObject,
    },
    run: async ({ steps = 3, everyMs = 10 }, call) => {
      for (let step = 1; step <= Number(steps); step += 1) {
        await call.progress(step, Number(steps));
        // After each step, the last too: the SDK's client drops a notification that comes with the result in one chunk.
        await new Promise((resolve) => setTimeout(resolve, Number(everyMs)));
        // However late the timer is, a client in this process has read by then.
        await new Promise((resolve) => setImmediate(resolve));
      }
      return { text: `${steps} steps` };
    },
  },
];

const resources = [
  { uri: 'note://one', name: 'one', description: 'A text', mimeType: 'text/plain', text: 'the first note' },
  { uri: 'note://dot.png', name: 'dot', description: 'Bytes', mimeType: 'image/png', blob: 'iVBORw0KGgo=' },
] as const;

export const listedResources = resources.map(({ uri, name, description, mimeType }) => ({
  ...{ uri, name, description, mimeType },
}));

/** @param code of the error for an unknown address, which differs with the revision */
export function readResource(uri: string, code: number) {
  const resource = resources.find((one) => one.uri === uri);
  if (resource === undefined) throw Object.assign(new Error(`Resource not found: ${uri}`), { code, data: { uri } });
  return { contents: [resource] };
}

export const resourceTemplates = [{ uriTemplate: 'note://{id}', name: 'note', mimeType: 'text/plain' }];

export const prompts = [
  { name: 'greet', description: 'Greets somebody', arguments: [{ name: 'who', required: true }] },
];

export function greeting({ who = 'nobody' }: Args = {}) {
  const content = { type: 'text' as const, text: `Greet ${String(who)}` };
  return { messages: [{ role: 'user' as const, content }] };
}

export const capabilities = {
  tools: { listChanged: true },
  resources: { listChanged: true },
  prompts: { listChanged: true },
  logging: {},
};

/** Makes the state of one peer. */
export function peerWork(tools: readonly PeerTool[] = standardTools, pageSize = 1000): PeerWork {
  return { tools, calls: [], slow: [], pageSize };
}

/** How often a tool was executed. */
export function executions(work: PeerWork, tool: string): number {
  return work.calls.filter((call) => call.tool === tool).length;
}

/** Chooses tools by name; a name that is not a standard tool becomes a tool that says its own name. */
export function toolsNamed(names: readonly (string | PeerTool)[]): readonly PeerTool[] {
  return names.map((name) => {
    if (typeof name !== 'string') return name;
    const standard = standardTools.find(({ definition }) => definition.name === name);
    return (
      standard ?? {
        definition: { name, description: `The tool ${name}`, inputSchema: anyObject },
        run: () => ({ text: name }),
      }
    );
  });
}

/** Answers tools/list, a page at a time. */
export function listTools(
  work: PeerWork,
  cursor: string | undefined,
): { tools: ToolDefinition[]; nextCursor?: string } {
  work.beforeList?.();
  const from = Number(cursor ?? 0);
  const end = from + work.pageSize;
  const tools = work.tools.slice(from, end).map(({ definition }) => definition);
  return end < work.tools.length ? { tools, nextCursor: String(end) } : { tools };
}

/** Executes a tool and writes it down before, so that an execution counts even where no answer leaves. */
export async function callTool(work: PeerWork, name: string, args: Args, call: Call) {
  const tool = work.tools.find(({ definition }) => definition.name === name);
  if (tool === undefined) return resultOf({ text: `Unknown tool: ${name}`, isError: true });
  work.calls.push({ tool: name, args });
  work.beforeCall?.(name, args);
  return resultOf(await tool.run(args, call, work));
}

function told(answer: unknown): ToolAnswer {
  return { text: JSON.stringify(answer) };
}

function waitForRelease(signal: AbortSignal, work: PeerWork): Promise<ToolAnswer> {
  return new Promise((resolve) => {
    const settle = (state: 'released' | 'cancelled') => () => {
      if (slow.state !== 'waiting') return;
      slow.state = state;
      resolve({ text: state });
    };
    const slow: SlowCall = { state: 'waiting', release: settle('released') };
    work.slow.push(slow);
    if (signal.aborted) settle('cancelled')();
    signal.addEventListener('abort', settle('cancelled'), { once: true });
  });
}
