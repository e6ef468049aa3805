/**
 * The keys of a named profile's `config.yaml` that count only in the home's file, because all profiles share one listener,
 * one journal and one inspector. They are reported, since nothing else shows that they have no effect.
 * @see PRF-2 in docs/specification.md
 */

import { isJsonObject, type JsonObject } from '../base/json.ts';
import type { ConfigPath } from './document.ts';
import { listenerKeys } from './webhook-settings.ts';

const sections: readonly ConfigPath[] = [['gateway'], ['inspector'], ['telemetry'], ['log'], ['agent', 'concurrency']];
const adapter = ['platforms', 'webhook'] as const;
const paths: readonly ConfigPath[] = [
  ...sections,
  ...Object.keys(listenerKeys).flatMap((key) =>
    key === 'secret'
      ? []
      : [
          [...adapter, key],
          [...adapter, 'extra', key],
        ],
  ),
];
/** Of the webhook variables, only the secret may be set in a profile's `.env`. */
const variables = ['WEBHOOK_ENABLED', 'WEBHOOK_PORT'] as const;

/** The paths of keys that have no effect in a profile. */
export function keysOfTheHome(written: JsonObject): readonly ConfigPath[] {
  const found = paths.filter((path) => valueAt(written, path) !== undefined);
  const enabled = [...adapter, 'enabled'];
  // `enabled: true` is already the case; any other value has no effect, because the profile is served anyway.
  const switched = valueAt(written, enabled);
  return switched === undefined || switched === true ? found : [...found, enabled];
}

/** The variables of a profile's `.env` that have no effect there. */
export function variablesOfTheHome(secrets: ReadonlyMap<string, string>): readonly string[] {
  return variables.filter((name) => secrets.has(name));
}

function valueAt(written: JsonObject, path: ConfigPath): unknown {
  let at: unknown = written;
  for (const step of path) at = isJsonObject(at) ? at[String(step)] : undefined;
  return at;
}
