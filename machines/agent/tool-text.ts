/**
 * Formats a tool's result as one text for a model. Content that is not text is named, so that the model sees it existed.
 * Cuts nothing: the result is already bounded.
 * @see DIS-3 and LIF-13 in docs/specification.md
 */

import { isJsonObject, type JsonObject } from '../base/json.ts';
import type { ShapedResult } from '../mcp/tool-result.ts';

/** Structured content repeats the content for programs, so it is used only if there is no other text. */
export function toolText({ content, structuredContent }: ShapedResult): string {
  const texts = content.map(formatBlock).filter((text) => text !== '');
  if (texts.length > 0) return texts.join('\n');
  return structuredContent === undefined ? '(no content)' : JSON.stringify(structuredContent);
}

function formatBlock(block: JsonObject): string {
  switch (block.type) {
    case 'text':
      return String(block.text);
    case 'image':
    case 'audio':
      return `[${block.type}, ${String(block.mimeType)}]`;
    case 'resource': {
      const resource = isJsonObject(block.resource) ? block.resource : {};
      const uri = String(resource.uri ?? '');
      return typeof resource.text === 'string' ? `${uri}\n${resource.text}` : `[${uri}, not a text]`;
    }
    case 'resource_link':
      return `[${String(block.name ?? 'resource')}: ${String(block.uri)}]`;
    default:
      return '';
  }
}
