/**
 * Formats a tool's result as one text for a model. Content that is not text is named, so that the model sees it existed.
 * Cuts nothing: the result is already bounded.
 * @see DIS-3 and LIF-13 in docs/specification.md
 */

import { isJsonObject, type JsonObject } from '../base/json.ts';
import type { ShapedResult } from '../mcp/tool-result.ts';

/** Structured content repeats the content for programs, so it is used only if the content has no words. */
export function toolText({ content, structuredContent }: ShapedResult): string {
  const texts = content.map(formatBlock).filter((text) => text !== '');
  if (structuredContent !== undefined && !content.some(hasWords)) texts.push(JSON.stringify(structuredContent));
  return texts.length === 0 ? '(no content)' : texts.join('\n');
}

/** A picture or a link alone says nothing of what the structure holds. */
function hasWords({ resource, text = null }: JsonObject): boolean {
  const words = isJsonObject(resource) ? resource.text : text;
  return typeof words === 'string' && words.trim() !== '';
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
