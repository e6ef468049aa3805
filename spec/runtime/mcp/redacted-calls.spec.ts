import t from 'tap';
import type { CallAnswer, Calls } from '../../../runtime/mcp/calls.ts';
import { redactedCalls } from '../../../runtime/mcp/redacted-calls.ts';
import { createRedactor } from '../../../runtime/observe/redact.ts';

const secret = 'no-shape-at-all-7';
const redactor = createRedactor();
redactor.learn(secret);

async function answered(answer: CallAnswer): Promise<CallAnswer> {
  const calls = { start: () => Promise.resolve(answer) } as unknown as Calls;
  const request = { profile: 'default', name: 'mcp__s__t', args: {}, caller: 'cli' };
  return redactedCalls(calls, redactor.text).start(request);
}

t.test(
  'OBS-1 · LIF-13 · an error holds no secret that the configuration knows, wherever in it that stands',
  async (t) => {
    const rpc = { code: -32000, message: secret };
    const fault = { code: 'rpc_error', message: `error -32000: ${secret}`, rpc } as const;
    t.same(await answered({ kind: 'fault', fault }), {
      kind: 'fault',
      fault: {
        code: 'rpc_error',
        message: 'error -32000: [redacted]',
        rpc: { code: -32000, message: '[redacted]' },
      },
    });

    const data = Buffer.from(secret).toString('base64');
    const content = [
      { type: 'text', text: `failed with ${secret}`, annotations: { note: secret } },
      { type: 'image', data, mimeType: 'image/png' },
      { type: 'resource', resource: { uri: `x:${secret}`, text: secret } },
      { type: 'resource', resource: { uri: 'x:', blob: data } },
    ];
    const error = await answered({
      kind: 'result',
      result: { content, structuredContent: { why: [secret] }, isError: true, _meta: { why: secret } },
    });
    t.same(error, {
      kind: 'result',
      result: {
        content: [
          { type: 'text', text: 'failed with [redacted]', annotations: { note: '[redacted]' } },
          { type: 'image', data, mimeType: 'image/png' },
          { type: 'resource', resource: { uri: 'x:[redacted]', text: '[redacted]' } },
          { type: 'resource', resource: { uri: 'x:', blob: data } },
        ],
        structuredContent: { why: ['[redacted]'] },
        isError: true,
        _meta: { why: '[redacted]' },
      },
    });
  },
);

t.test('LIF-13 · what a tool answers well stays as it is', async (t) => {
  const answer = { kind: 'result', result: { content: [{ type: 'text', text: secret }], isError: false } } as const;
  t.equal(await answered(answer), answer);
});
