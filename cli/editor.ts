/** Opens a file in the person's editor. @see CLI-6 in docs/specification.md */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { privateFile } from '../actors/files.ts';
import type { CommandContext } from './context.ts';

const defaultEditor = 'vi';

/** Runs the editor on the file as Git does; returns why it failed. Meanwhile Ctrl-C belongs to the editor. */
export async function openEditor({ env }: CommandContext, file: string): Promise<string | undefined> {
  const editor = env.VISUAL || env.EDITOR || defaultEditor;
  const ignore = (): void => {};
  process.on('SIGINT', ignore);
  try {
    const child = spawn('/bin/sh', ['-c', `${editor} "$@"`, editor, file], { stdio: 'inherit', env: { ...env } });
    const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
    if (code === 0) return undefined;
    const cure = code === 127 ? '; set VISUAL or EDITOR to an editor that is installed' : '';
    return `the editor "${editor}" ended with ${signal ?? code}${cure}`;
  } finally {
    process.off('SIGINT', ignore);
  }
}

/**
 * Writes a new file with this text, at the first path that is free: a draft that was kept may be of an earlier process with
 * the same number, as after the restart of a container.
 */
export function makeDraft(pathOf: (number: number) => string, text: string): string {
  for (let number = process.pid; ; number += 1) {
    try {
      writeFileSync(pathOf(number), text, { mode: privateFile, flag: 'wx' });
      return pathOf(number);
    } catch (thrown) {
      if ((thrown as NodeJS.ErrnoException).code !== 'EEXIST') throw thrown;
    }
  }
}
