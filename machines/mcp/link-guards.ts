/**
 * Says which settings of an entry lower a guard, in sentences for the person who is asked: the entry comes from a web page
 * or from another program's file.
 * @see SEC-2 in docs/specification.md
 */

import { isJsonObject, type Json, type JsonObject } from '../base/json.ts';

/** Variables that load other code into a command, or choose which code it is. */
const loaders =
  /^(?:LD_[A-Z_]+|DYLD_[A-Z_]+|GCONV_PATH|PATH|NODE_(?:OPTIONS|PATH)|PYTHON(?:PATH|HOME|STARTUP)|PERL5?(?:LIB|OPT)|RUBY(?:LIB|OPT)|_?JAVA_(?:TOOL_)?OPTIONS|BASH_ENV|ENV|GIT_SSH(?:_COMMAND)?)$/i;

/** One sentence per guard, each beginning with the key; empty where all are as they are without the entry's words. */
export function loweredGuards(config: JsonObject): readonly string[] {
  const { trust, ssl_verify: verify, env, client_cert: cert, client_key: key, cross_origin_redirects: leads } = config;
  const files = [...textsOf(cert), ...textsOf(key)];
  const roots = textsOf(config.roots);
  const variables = isJsonObject(env) ? Object.keys(env) : [];
  return [
    ...(trust === undefined || trust === 'full' ? ['trust: its tools run without asking you.'] : []),
    ...(verify === false ? ['ssl_verify: anyone between you and the server can read and change everything.'] : []),
    ...(typeof verify === 'string' ? [`ssl_verify: it trusts the certificates in ${verify}.`] : []),
    ...(leads === true ? ['cross_origin_redirects: what you send may be taken to other servers.'] : []),
    ...(files.length > 0 ? [`client_cert, client_key: it logs in with ${files.join(' and ')} of this computer.`] : []),
    ...(roots.length > 0 ? [`roots: it is given the folders ${roots.join(', ')}.`] : []),
    ...(variables.length > 0 ? [`env: it sets ${variables.join(', ')} for the command.`] : []),
    ...loadersOf(env).map(([name, value]) => `env: ${name}=${value} can load other code into the command.`),
  ];
}

function loadersOf(env: Json | undefined): readonly (readonly [string, string])[] {
  const set = isJsonObject(env) ? Object.entries(env) : [];
  return set.flatMap(([name, value]) => (loaders.test(name) ? [[name, String(value)] as const] : []));
}

function textsOf(value: Json | undefined): readonly string[] {
  if (typeof value === 'string') return [value];
  return Array.isArray(value) ? value.flatMap(textsOf) : [];
}
