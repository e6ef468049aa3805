/**
 * Keeps the parsed text of a config.yaml that was just changed, so that the reload after a change of a long file does not
 * parse it again.
 * @see CFG-2 and HOME-4 in docs/specification.md
 */

import type { ConfigDocument } from '../../machines/config/document.ts';
import type { EditedConfig } from '../../machines/config/edit.ts';

/** By path. */
const changed = new Map<string, EditedConfig>();

export function keepParsed(path: string, edited: EditedConfig): void {
  changed.set(path, edited);
}

/** What was kept for a path, once, if it is of this text. */
export function takeParsed(path: string, text: string): ConfigDocument | undefined {
  const kept = changed.get(path);
  changed.delete(path);
  return kept?.text === text ? kept.document : undefined;
}
