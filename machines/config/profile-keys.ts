/**
 * Says which keys of a named profile's `config.yaml` count in the home's alone: there is one listener, one journal and one
 * inspector for all profiles. Whoever writes them in a profile is told, since nothing else shows that they do nothing.
 * @see PRF-2 in docs/specification.md
 */

import { isJsonObject, type JsonObject } from '../base/json.ts';
import type { ConfigPath } from './document.ts';

const sections: readonly ConfigPath[] = [['gateway'], ['inspector'], ['telemetry'], ['log'], ['agent', 'concurrency']];
const listenerKeys = [
  'host',
  'port',
  'rate_limit',
  'max_body_bytes',
  'max_unverified_bytes',
  'script_concurrency',
  'allow_weak_secrets',
  'public_url',
] as const;
const adapter = ['platforms', 'webhook'] as const;
const paths: readonly ConfigPath[] = [
  ...sections,
  ...listenerKeys.flatMap((key) => [
    [...adapter, key],
    [...adapter, 'extra', key],
  ]),
];
/** Of the variables that a profile's `.env` may hold only the secret is its own. */
const variables = ['WEBHOOK_ENABLED', 'WEBHOOK_PORT'] as const;

/** The places of the keys that take no effect where they are written. */
export function keysOfTheHome(written: JsonObject): readonly ConfigPath[] {
  const found = paths.filter((path) => valueAt(written, path) !== undefined);
  const enabled = [...adapter, 'enabled'];
  // A profile that says "on" says what is; one that says anything else is served all the same.
  const switched = valueAt(written, enabled);
  return switched === undefined || switched === true ? found : [...found, enabled];
}

/** The variables of a profile's `.env` that take no effect there. */
export function variablesOfTheHome(secrets: ReadonlyMap<string, string>): readonly string[] {
  return variables.filter((name) => secrets.has(name));
}

function valueAt(written: JsonObject, path: ConfigPath): unknown {
  let at: unknown = written;
  for (const step of path) at = isJsonObject(at) ? at[String(step)] : undefined;
  return at;
}
