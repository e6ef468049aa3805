/**
 * The packages that are bundled into the program and into the inspector's page, as their builds see them; the notices are
 * made from the lists.
 */

import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';
import type { Plugin } from 'vite';

/** Where the builds of the page and of the program list them, by their folders. They lie outside of what is packed. */
export const pagePackages = 'dist/spec/house/page-packages.json';
export const programPackages = 'dist/spec/house/program-packages.json';

/** Writes a list where it has changed: the notices are made anew with it. */
export function notePackages(file: string, found: ReadonlySet<string>): void {
  const list = `${JSON.stringify([...found].sort())}\n`;
  if (existsSync(file) && readFileSync(file, 'utf8') === list) return;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, list);
}

/** Returns a plugin that adds to `found` the folders of the packages whose modules or files the output holds. */
export function notesPackages(root: string, found: Set<string>): Plugin {
  return {
    name: 'notes-packages',
    generateBundle(_, outputs) {
      for (const output of Object.values(outputs)) {
        for (const file of output.type === 'chunk' ? output.moduleIds : output.originalFileNames) {
          // Marked by the bundler as its own, or with what is wanted of the file.
          const path = relative('.', resolve(root, file.replace(/^\0+|\?.*$/g, '')));
          const [folder] = /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? [];
          if (folder !== undefined) found.add(folder);
        }
      }
    },
  };
}
