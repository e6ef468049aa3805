/**
 * The tool `web_extract`: the readable text of a public page. Private addresses are refused, also after a redirect.
 * @see DIS-5 in docs/specification.md
 */

import { readableText } from '../../machines/agent/readable-text.ts';
import { cut } from '../../machines/base/json.ts';
import { stripTags } from '../../machines/mcp/strip-tags.ts';
import type { FetchPublic } from './fetch-public.ts';
import type { BuiltInTool } from './model-loop.ts';

const timeoutMs = 20_000;
const maxBytes = 2_097_152;
const maxTextLength = 20_000;
const readable = [
  'text/',
  'application/json',
  'application/xml',
  'application/xhtml+xml',
  'application/rss+xml',
  'application/atom+xml',
];

export function createWebExtract(fetchPublic: FetchPublic): BuiltInTool {
  return {
    offer: {
      name: 'web_extract',
      description: `Reads a public web page and returns its text, at most ${maxTextLength} characters of it.`,
      inputSchema: {
        type: 'object',
        properties: { url: { type: 'string', description: 'The complete URL, https://…' } },
        required: ['url'],
      },
    },
    async call({ url }, signal) {
      if (typeof url !== 'string') return { text: 'web_extract: give the URL as a text', isError: true };
      const outcome = await fetchPublic({ url, accept: readable, maxBytes, timeoutMs }, signal);
      if (outcome.kind === 'refused') return { text: `web_extract: ${outcome.why}`, isError: true };
      const source = decode(outcome.bytes, outcome.type);
      const isPage = /^(?:text\/html|application\/xhtml)/.test(outcome.type);
      const { title, text } = isPage ? readableText(source) : { title: '', text: source };
      const clean = stripTags(text);
      const kept = cut(clean, maxTextLength);
      const head = title === '' ? outcome.url : `${stripTags(title)}\n${outcome.url}`;
      const tail = kept.length === clean.length ? '' : `\n\n[${clean.length - kept.length} characters left out]`;
      return { text: `${head}\n\n${kept}${tail}`, isError: false };
    },
  };
}

/** Byte order marks, as Latin-1, with the encodings that they mean. */
const marks = [
  ['\xff\xfe', 'utf-16le'],
  ['\xfe\xff', 'utf-16be'],
  ['\xef\xbb\xbf', 'utf-8'],
] as const;

/**
 * Decodes with the encoding of the byte order mark, else with the charset of the content type, else of the page's `<meta>` or
 * `<?xml …?>`, else as UTF-8. As in a browser, the mark comes first.
 */
function decode(bytes: Buffer, type: string): string {
  const beginning = bytes.subarray(0, 1_024).toString('latin1');
  const named =
    marks.find(([mark]) => beginning.startsWith(mark))?.[1] ??
    /charset=["']?([\w-]{1,40})/.exec(type)?.[1] ??
    /<(?:meta[^>]{0,200}charset|\?xml[^>]{0,200}encoding)=["']?([\w-]{1,40})/i.exec(beginning)?.[1];
  try {
    return new TextDecoder(named ?? 'utf-8').decode(bytes);
  } catch {
    return new TextDecoder().decode(bytes);
  }
}
