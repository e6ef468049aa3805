/** `node:fs` with the one name that Node 20 lacks and the suite imports for a report that is never made here. */

export * from 'node:fs';
export { default } from 'node:fs';

export function globSync(): never {
  throw new Error('fs.globSync needs Node 22');
}
