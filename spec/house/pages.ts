/** The pages of the documentation as the house specs read them. */

import { readdirSync, readFileSync } from 'node:fs';

export interface Page {
  readonly path: string;
  readonly text: string;
}

/** README.md and every page of docs/. */
export function pagesOf(): Page[] {
  const docs = readdirSync('docs', { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.md'));
  return ['README.md', ...docs.map((name) => `docs/${name}`)].map((path) => ({
    path,
    text: readFileSync(path, 'utf8'),
  }));
}
