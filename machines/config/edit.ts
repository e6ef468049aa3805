/**
 * Changes keys of `config.yaml` and leaves the rest as the user wrote it: comments, order, blank lines.
 * @see HOME-4 in docs/specification.md
 */

import { parseDocument as parseYaml } from 'yaml';
import type { Json } from '../base/json.ts';
import type { ConfigPath } from './document.ts';

export interface ConfigEdit {
  readonly path: ConfigPath;
  /** Undefined takes the key out. */
  readonly value: Json | undefined;
}

/** The text after the edits; undefined where the text is no YAML that could be kept. */
export function editConfig(text: string, edits: readonly ConfigEdit[]): string | undefined {
  const document = parseYaml(text);
  if (document.errors.length > 0) return undefined;
  for (const { path, value } of edits) {
    if (value === undefined) document.deleteIn(path);
    else document.setIn(path, value);
  }
  return document.toString({ lineWidth: 0 });
}
