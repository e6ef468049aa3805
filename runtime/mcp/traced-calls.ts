/**
 * Calls with a span each, whose id is passed to the server.
 * @see OBS-1 in docs/specification.md
 */

import type { Tracing } from '../observe/tracing.ts';
import type { CallAnswer, CallRequest, Calls } from './calls.ts';

export function tracedCalls(calls: Calls, tracing: Tracing): Calls {
  return {
    ...calls,
    start: (request) => (tracing.isOn() ? traced(request) : calls.start(request)),
  };

  async function traced(request: CallRequest): Promise<CallAnswer> {
    const span = tracing.begin({ name: `tools/call ${request.name}`, kind: 'client', parent: request.traceparent });
    const answer = await calls.start(span === undefined ? request : { ...request, traceparent: span.traceparent });
    span?.end(
      {
        'rpc.system': 'jsonrpc',
        'mcp.method.name': 'tools/call',
        'gen_ai.tool.name': request.name,
        'agent.profile': request.profile,
        'agent.caller': request.caller,
        'agent.run': request.run,
        'agent.outcome': answer.kind === 'fault' ? answer.fault.code : answer.result.isError ? 'tool_error' : 'result',
      },
      answer.kind === 'fault' ? answer.fault.message : undefined,
    );
    return answer;
  }
}
