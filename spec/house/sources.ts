/** The sources as the house specs read them. Every spec runs from the repository's root. */

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

export interface SourceFile {
  readonly path: string;
  readonly text: string;
  /** Text without comments and string contents, line for line. */
  readonly code: string;
  /** Static, type-only and dynamic ones alike. */
  readonly imports: readonly string[];
  /** Those that are resolved when they are reached, long after both files are loaded. */
  readonly dynamic: readonly string[];
}

const floors = ['machines', 'actors', 'runtime', 'cli'] as const;

export function sourceFiles(folders: readonly string[] = floors): SourceFile[] {
  return folders.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => /\.tsx?$/.test(name))
      .map((name) => readSource(join(folder, name))),
  );
}

function readSource(path: string): SourceFile {
  const text = readFileSync(path, 'utf8');
  return {
    path,
    text,
    code: withoutWords(text),
    imports: importsOf(text).map((specifier) => resolved(path, specifier)),
    dynamic: [...bareOf(text).matchAll(dynamicImport)].map(([, specifier = '']) => resolved(path, specifier)),
  };
}

const dynamicImport = /\bimport\(\s*'([^'\n]+)'/g;

function bareOf(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '');
}

function importsOf(text: string): string[] {
  const bare = bareOf(text);
  const found = [
    // A statement begins its line, and nothing else of that form does.
    ...bare.matchAll(/^(?:import|export)\b[^;']*?\bfrom '([^'\n]+)';$/gm),
    ...bare.matchAll(/^import '([^'\n]+)';$/gm),
    ...bare.matchAll(dynamicImport),
  ];
  return [...new Set(found.map(([, specifier]) => specifier ?? ''))];
}

/** Relative imports as paths from the root; packages as they are. */
function resolved(path: string, specifier: string): string {
  return specifier.startsWith('.') ? normalize(join(dirname(path), specifier)) : specifier;
}

function withoutWords(text: string): string {
  return text
    .replace(/\/\*[\s\S]*?\*\//g, (comment) => comment.replace(/[^\n]/g, ' '))
    .replace(/(^|[^:])\/\/.*$/gm, '$1')
    .replace(/'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`/g, (quoted) => quoted.replace(/[^\n]/g, ' '));
}
