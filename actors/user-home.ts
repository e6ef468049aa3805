/**
 * The home folder of the user: `HOME`, else that of the passwd file. Empty for a user who has neither, such as one of a
 * container whose id no file lists.
 * @see HOME-1 in docs/specification.md
 */

import { homedir } from 'node:os';

export function userHomeFolder(read = homedir): string {
  try {
    return read();
  } catch {
    return '';
  }
}
