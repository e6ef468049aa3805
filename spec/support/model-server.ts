/**
 * A model endpoint for specs: speaks OpenAI's chat completions and Anthropic's messages, streams in small pieces, calls
 * tools, and fails on purpose. Answers requests in the order of its script; the last answer stands for all that follow.
 */

import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { Test } from 'tap';
import type { JsonObject } from '../../machines/base/json.ts';
import { listenHttp } from './http-listener.ts';

export interface ScriptedCall {
  readonly id?: string;
  readonly name: string;
  /** The text of the arguments, as the model spells it. */
  readonly args: string;
}

export type ModelReply =
  | {
      readonly kind: 'says';
      readonly text?: string;
      readonly calls?: readonly ScriptedCall[];
      readonly stop?: 'ended' | 'cut' | 'refused';
    }
  /** The same without a stream, as some endpoints do whatever they are asked. */
  | { readonly kind: 'whole'; readonly text?: string; readonly calls?: readonly ScriptedCall[] }
  | {
      readonly kind: 'status';
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: string;
    }
  /** Part of a text, and then the end: a clean one, or the connection is reset. */
  | { readonly kind: 'half'; readonly text: string; readonly reset?: boolean }
  | { readonly kind: 'nothing' }
  /** Reset after the request was read, before a byte of the answer. */
  | { readonly kind: 'reset' }
  /** Reads the request and never answers; with a text, goes silent after that. */
  | { readonly kind: 'silent'; readonly text?: string }
  /** An error in mid-stream. */
  | { readonly kind: 'givesUp'; readonly type: string }
  | { readonly kind: 'raw'; readonly type: string; readonly body: string };

export interface AskedModel {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: JsonObject;
}

export interface ModelServer {
  /** For `agent.model.base_url` of either provider. */
  readonly url: string;
  readonly asked: readonly AskedModel[];
}

/** What each answer of a script costs. */
export const costOfAnswer = { input: 10, cached: 4, output: 5 } as const;
/** An odd number, so that pieces end within lines and within characters. */
const pieceLength = 37;

export async function startModelServer(
  t: Test,
  script: readonly ModelReply[] | ((asked: AskedModel, index: number) => ModelReply),
): Promise<ModelServer> {
  const asked: AskedModel[] = [];
  const { url } = await listenHttp(t, async (req, res) => {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk as Buffer);
    const one = {
      path: req.url ?? '',
      headers: req.headers,
      body: JSON.parse(Buffer.concat(chunks).toString('utf8')) as JsonObject,
    };
    const index = asked.push(one) - 1;
    const reply = typeof script === 'function' ? script(one, index) : (script[index] ?? script.at(-1));
    await give(res, reply ?? { kind: 'nothing' }, one.path.endsWith('/v1/messages'));
  });
  return { url, asked };
}

async function give(res: ServerResponse, reply: ModelReply, isAnthropic: boolean): Promise<void> {
  switch (reply.kind) {
    case 'status':
      res.writeHead(reply.status, { 'content-type': 'application/json', ...reply.headers }).end(reply.body ?? '{}');
      return;
    case 'raw':
      res.writeHead(200, { 'content-type': reply.type }).end(reply.body);
      return;
    case 'whole': {
      const body = isAnthropic ? anthropicWhole(reply) : openAiWhole(reply);
      res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
      return;
    }
    case 'reset':
      res.socket?.resetAndDestroy();
      return;
    case 'silent':
      if (reply.text !== undefined) await stream(res, (isAnthropic ? anthropicHalf : openAiHalf)(reply.text));
      return;
    case 'nothing':
      res.writeHead(200, { 'content-type': 'text/event-stream' }).end();
      return;
    case 'half':
      await stream(res, (isAnthropic ? anthropicHalf : openAiHalf)(reply.text));
      if (reply.reset === true) res.socket?.resetAndDestroy();
      else res.end();
      return;
    case 'givesUp': {
      const error = { type: reply.type, message: 'sk-0123456789abcdef is tired' };
      await stream(res, isAnthropic ? event('error', { type: 'error', error }) : event('', { error }));
      res.end();
      return;
    }
    case 'says':
      await stream(res, isAnthropic ? anthropicStream(reply) : openAiStream(reply));
      res.end();
  }
}

/** Piece by piece, each of them on its way before the next. */
async function stream(res: ServerResponse, text: string): Promise<void> {
  if (!res.headersSent) res.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length && !res.destroyed; at += pieceLength) {
    await new Promise<void>((resolve) => {
      res.write(bytes.subarray(at, at + pieceLength), () => resolve());
    });
  }
}

function event(name: string, data: JsonObject): string {
  return `${name === '' ? '' : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`;
}

type Says = Extract<ModelReply, { readonly kind: 'says' | 'whole' }>;

const openAiUsage = {
  prompt_tokens: costOfAnswer.input,
  prompt_tokens_details: { cached_tokens: costOfAnswer.cached },
  completion_tokens: costOfAnswer.output,
};
const anthropicInput = {
  input_tokens: costOfAnswer.input - costOfAnswer.cached,
  cache_read_input_tokens: costOfAnswer.cached,
};

function openAiChunk(delta: JsonObject, finish: string | null = null): string {
  return event('', { model: 'usual', choices: [{ index: 0, delta, finish_reason: finish }] });
}

function openAiHalf(text: string): string {
  return openAiChunk({ role: 'assistant', content: '' }) + openAiChunk({ content: text });
}

function openAiStream({ text = '', calls = [], ...reply }: Says): string {
  const stop = 'stop' in reply ? reply.stop : undefined;
  const finish = { ended: 'stop', cut: 'length', refused: 'content_filter' } as const;
  const parts = [...text.matchAll(/[\s\S]{1,4}/g)].map(([part]) => openAiChunk({ content: part }));
  // The first part of a call names it; the arguments come in two more.
  const asked = calls.flatMap(({ id, name, args }, index) => {
    const half = Math.ceil(args.length / 2);
    return [
      { index, id: id ?? `call-${index}`, type: 'function', function: { name, arguments: '' } },
      { index, function: { arguments: args.slice(0, half) } },
      { index, function: { arguments: args.slice(half) } },
    ].map((call) => openAiChunk({ tool_calls: [call] }));
  });
  return [
    ': a comment keeps the connection open\n\n',
    openAiChunk({ role: 'assistant', content: '' }),
    ...parts,
    ...asked,
    openAiChunk({}, stop === undefined && calls.length > 0 ? 'tool_calls' : finish[stop ?? 'ended']),
    event('', { model: 'usual', choices: [], usage: openAiUsage }),
    'data: [DONE]\n\n',
  ].join('');
}

function openAiWhole({ text = '', calls = [] }: Says): JsonObject {
  const asked = calls.map(({ id, name, args }, index) => ({
    id: id ?? `call-${index}`,
    type: 'function',
    function: { name, arguments: args },
  }));
  const message = { role: 'assistant', content: text, ...(asked.length === 0 ? {} : { tool_calls: asked }) };
  return {
    model: 'usual',
    choices: [{ index: 0, message, finish_reason: calls.length > 0 ? 'tool_calls' : 'stop' }],
    usage: openAiUsage,
  };
}

const anthropicStart = event('message_start', {
  type: 'message_start',
  message: { role: 'assistant', content: [], usage: { ...anthropicInput, output_tokens: 1 } },
});

function anthropicText(index: number, text: string): string[] {
  const parts = [...text.matchAll(/[\s\S]{1,4}/g)].map(([part]) =>
    event('content_block_delta', {
      type: 'content_block_delta',
      index,
      delta: { type: 'text_delta', text: part },
    }),
  );
  const start = { type: 'content_block_start', index, content_block: { type: 'text', text: '' } };
  return [event('content_block_start', start), ...parts];
}

function anthropicHalf(text: string): string {
  return [anthropicStart, ...anthropicText(0, text)].join('');
}

function anthropicStream({ text = '', calls = [], ...reply }: Says): string {
  const stop = 'stop' in reply ? reply.stop : undefined;
  const reasons = { ended: 'end_turn', cut: 'max_tokens', refused: 'refusal' } as const;
  const asked = calls.flatMap(({ id, name, args }, position) => {
    const index = position + 1;
    const half = Math.ceil(args.length / 2);
    const block = { type: 'tool_use', id: id ?? `toolu_${position}`, name, input: {} };
    return [
      event('content_block_start', { type: 'content_block_start', index, content_block: block }),
      ...['', args.slice(0, half), args.slice(half)].map((partial_json) =>
        event('content_block_delta', {
          type: 'content_block_delta',
          index,
          delta: { type: 'input_json_delta', partial_json },
        }),
      ),
      event('content_block_stop', { type: 'content_block_stop', index }),
    ];
  });
  const reason = stop === undefined && calls.length > 0 ? 'tool_use' : reasons[stop ?? 'ended'];
  return [
    anthropicStart,
    event('ping', { type: 'ping' }),
    ...(text === ''
      ? []
      : [...anthropicText(0, text), event('content_block_stop', { type: 'content_block_stop', index: 0 })]),
    ...asked,
    event('message_delta', {
      type: 'message_delta',
      delta: { stop_reason: reason },
      usage: { output_tokens: costOfAnswer.output },
    }),
    event('message_stop', { type: 'message_stop' }),
  ].join('');
}

function anthropicWhole({ text = '', calls = [] }: Says): JsonObject {
  const used = calls.map(({ id, name, args }, index) => ({
    type: 'tool_use',
    id: id ?? `toolu_${index}`,
    name,
    input: JSON.parse(args) as JsonObject,
  }));
  return {
    type: 'message',
    role: 'assistant',
    content: [...(text === '' ? [] : [{ type: 'text', text }]), ...used],
    stop_reason: calls.length > 0 ? 'tool_use' : 'end_turn',
    usage: { ...anthropicInput, output_tokens: costOfAnswer.output },
  };
}
