/**
 * Reads the files of the built page once. They are looked up by name, so no path can leave the folder. A file whose name
 * has a digest never changes; the others are revalidated by their ETag.
 * @see INS-2 in docs/specification.md
 */

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';

export interface PageFile {
  /** Compressed by gzip if `isCompressed`. */
  readonly bytes: Buffer;
  readonly isCompressed: boolean;
  readonly type: string;
  readonly etag: string;
  /** The name contains a digest of the content. */
  readonly isImmutable: boolean;
}

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.wasm': 'application/wasm',
  '.json': 'application/json',
  '.txt': 'text/plain; charset=utf-8',
  '.md': 'text/plain; charset=utf-8',
};

/** The page's own files; nothing else in the folder is served. */
const isServed = /^\/(?:index\.html|[\w-]+\.(?:svg|png|ico)|(?:assets|licences)\/[\w./-]+)$/;

/** Returns the page's files by path; `/` is `/index.html`. Empty if no page was built. */
export function readPageFiles(folder: string): ReadonlyMap<string, PageFile> {
  const files = new Map<string, PageFile>();
  let names: string[] = [];
  try {
    names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  } catch {
    return files;
  }
  for (const name of names) {
    const isCompressed = name.endsWith('.gz');
    const served = isCompressed ? name.slice(0, -'.gz'.length) : name;
    const type = types[extname(served)];
    const path = `/${served.split(/[\\/]/).join('/')}`;
    if (type === undefined || !isServed.test(path)) continue;
    const bytes = readFileSync(join(folder, name));
    const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
    files.set(path, { bytes, isCompressed, type, etag, isImmutable: /^\/assets\/.+-[\w-]{8,}\.\w+$/.test(path) });
  }
  const index = files.get('/index.html');
  if (index !== undefined) files.set('/', index);
  return files;
}
