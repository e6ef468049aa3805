/**
 * Where the package's own files lie. The addresses hold for the compiled file and for the bundle alike: both lie two folders
 * below the package's root.
 * @see CLI-2 in docs/specification.md
 */

import { fileURLToPath } from 'node:url';

/** The `agent` executable, to be run by Node. */
export const mainFile = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
/** The inspector's page as it was built. */
export const pageFolder = fileURLToPath(new URL('../../dist/runtime/inspector/page', import.meta.url));
