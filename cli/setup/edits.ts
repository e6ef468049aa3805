/**
 * Turns answers into changes of config.yaml and variables of .env: each key where it takes effect, each secret behind the
 * reference that stands for it. Reads and writes no file.
 * @see CLI-1, HOME-4 and ADP-1 in docs/specification.md
 */

import type { Json } from '../../machines/base/json.ts';
import type { ConfigEdit } from '../../machines/config/edit.ts';
import type { Answers } from './answers.ts';

/** Reads what config.yaml says now at a path. */
export type Standing = (...path: readonly string[]) => Json | undefined;

export interface SecretPlace {
  /** The variable that the secret comes from. */
  readonly variable: string;
  /** The key that is to refer to it from now on; absent where nothing need be changed. */
  readonly refersAt?: readonly string[];
  /** Whether a secret stood there itself, and would have won. */
  readonly replaces: boolean;
}

const adapter = ['platforms', 'webhook'];
const modelKey = ['agent', 'model', 'api_key'];
/** A value that is one reference to a variable and nothing else. */
const reference = /^\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)\}$/;
/** References that are no variables. */
const known: ReadonlySet<string> = new Set(['userHome', 'workspaceFolder', 'workspaceFolderBasename', 'pathSeparator']);

export function editsOf(answers: Answers, standing: Standing): readonly ConfigEdit[] {
  const { enabled, host, port, inspectorPort, secret, runner, command, model } = answers;
  const edits: ConfigEdit[] = [];
  const set = (path: readonly string[], value: Json | undefined): void => {
    if (value !== undefined && standing(...path) !== value) edits.push({ path, value });
  };
  const refer = ({ variable, refersAt }: SecretPlace): void => {
    if (refersAt !== undefined) edits.push({ path: refersAt, value: `\${${variable}}` });
  };
  set([...adapter, 'enabled'], enabled);
  set(webhookPath(standing, 'host'), host);
  set(webhookPath(standing, 'port'), port);
  set(['inspector', 'port'], inspectorPort);
  if (secret !== undefined) refer(placeOfSecret(standing));
  set(['agent', 'runner'], runner);
  if (command !== undefined) edits.push({ path: ['agent', 'command'], value: command });
  set(['agent', 'model', 'provider'], model?.provider);
  set(['agent', 'model', 'base_url'], model?.baseUrl);
  set(['agent', 'model', 'name'], model?.name);
  if (model?.key !== undefined) refer(placeOfModelKey(standing));
  return edits;
}

/** The webhook adapter's key where it counts: under `extra`, else beside it. */
export function webhookValue(standing: Standing, key: string): Json | undefined {
  return standing(...adapter, 'extra', key) ?? standing(...adapter, key);
}

/** The global secret's place. Where nothing stands the variable alone is enough (ADP-1). */
export function placeOfSecret(standing: Standing): SecretPlace {
  const held = webhookValue(standing, 'secret');
  if (held === undefined) return { variable: 'WEBHOOK_SECRET', replaces: false };
  return placeOf(held, webhookPath(standing, 'secret'), 'WEBHOOK_SECRET');
}

export function placeOfModelKey(standing: Standing): SecretPlace {
  return placeOf(standing(...modelKey), modelKey, 'AGENT_MODEL_KEY');
}

function placeOf(held: Json | undefined, path: readonly string[], usual: string): SecretPlace {
  const named = typeof held === 'string' ? reference.exec(held)?.[1] : undefined;
  if (named !== undefined && !known.has(named)) return { variable: named, replaces: false };
  return { variable: usual, refersAt: path, replaces: held !== undefined };
}

/** Where a key takes effect (ADP-1): under `extra`, else beside it where it stands there. */
function webhookPath(standing: Standing, key: string): readonly string[] {
  const isDirect = standing(...adapter, 'extra', key) === undefined && standing(...adapter, key) !== undefined;
  return [...adapter, ...(isDirect ? [] : ['extra']), key];
}
