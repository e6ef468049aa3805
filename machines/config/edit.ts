/**
 * Changes keys of `config.yaml` and leaves the rest as the user wrote it: comments, order, blank lines.
 * @see HOME-4 in docs/specification.md
 */

import { type Document, isMap, parseDocument as parseYaml, YAMLMap } from 'yaml';
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
  if (document.errors.length > 0 || !(document.contents === null || isMap(document.contents))) return undefined;
  for (const { path, value } of edits) {
    if (value !== undefined) {
      makeRoom(document, path);
      if (!canHold(document, path)) return undefined;
      document.setIn(path, value);
    } else if (document.hasIn(path)) document.deleteIn(path);
  }
  return document.toString({ lineWidth: 0 });
}

/** A key that stands there without a value, such as `mcp_servers:`, gives way to a mapping. */
function makeRoom(document: Document, path: ConfigPath): void {
  for (let depth = 1; depth < path.length; depth += 1) {
    const above = path.slice(0, depth);
    if (document.hasIn(above) && document.getIn(above) === null) document.setIn(above, new YAMLMap());
  }
}

function canHold(document: Document, path: ConfigPath): boolean {
  for (let depth = 1; depth < path.length; depth += 1) {
    const above = document.getIn(path.slice(0, depth));
    if (above !== undefined && !isMap(above)) return false;
  }
  return true;
}
