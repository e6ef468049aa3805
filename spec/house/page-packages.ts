/** The packages that are bundled into the inspector's page, as its build sees them; the notices are made from the list. */

import { relative, resolve } from 'node:path';
import type { Plugin } from 'vite';

/** Where the build of the page lists them, by their folders. It lies outside of what is packed. */
export const pagePackages = 'dist/spec/house/page-packages.json';

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
