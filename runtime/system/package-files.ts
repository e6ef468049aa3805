/**
 * The paths of the package's own files. Both the compiled file and the bundle are below the package's `dist`.
 * @see CLI-2 in docs/specification.md
 */

import { fileURLToPath } from 'node:url';

const root = import.meta.url.slice(0, import.meta.url.lastIndexOf('/dist/') + 1);

/** The `agent` executable, to be run by Node. */
export const mainFile = fileURLToPath(new URL('dist/cli/main.js', root));
export const pageFolder = fileURLToPath(new URL('dist/runtime/inspector/page', root));
/** The home that the first start copies. */
export const exampleHomeFolder = fileURLToPath(new URL('docs/example-home', root));
