/**
 * Calls whose errors are redacted, because a server may quote its own key in an error. A successful result belongs to the
 * caller and is not changed.
 * @see OBS-1 and LIF-13 in docs/specification.md
 */

import { isJsonObject, type JsonObject } from '../../machines/base/json.ts';
import { mapStrings } from '../../machines/mcp/strip-tags.ts';
import type { ShapedResult } from '../../machines/mcp/tool-result.ts';
import type { CallAnswer, Calls } from './calls.ts';

export function redactedCalls(calls: Calls, redact: (text: string) => string): Calls {
  return { ...calls, start: async (request) => redacted(await calls.start(request), redact) };
}

function redacted(answer: CallAnswer, redact: (text: string) => string): CallAnswer {
  if (answer.kind === 'fault') {
    const { message, rpc } = answer.fault;
    const relayed = rpc === undefined ? {} : { rpc: { ...rpc, message: redact(rpc.message) } };
    return { kind: 'fault', fault: { ...answer.fault, message: redact(message), ...relayed } };
  }
  return answer.result.isError ? { kind: 'result', result: redactedError(answer.result, redact) } : answer;
}

function redactedError(result: ShapedResult, redact: (text: string) => string): ShapedResult {
  const { content, structuredContent, _meta } = result;
  return {
    ...result,
    content: content.map((block) => redactedBlock(block, redact)),
    ...(structuredContent === undefined ? {} : { structuredContent: mapStrings(structuredContent, redact) }),
    ...(_meta === undefined ? {} : { _meta: mapStrings(_meta, redact) as JsonObject }),
  };
}

/** Base64 is not redacted: it may resemble a key by chance. */
function redactedBlock(block: JsonObject, redact: (text: string) => string): JsonObject {
  const { data, resource, ...rest } = block;
  const clean = mapStrings(rest, redact) as JsonObject;
  const held = isJsonObject(resource) ? { resource: redactedResource(resource, redact) } : {};
  return { ...clean, ...(data === undefined ? {} : { data }), ...held };
}

function redactedResource({ blob, ...rest }: JsonObject, redact: (text: string) => string): JsonObject {
  return { ...(mapStrings(rest, redact) as JsonObject), ...(blob === undefined ? {} : { blob }) };
}
