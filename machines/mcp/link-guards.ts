/**
 * Describes which settings of an entry lower a guard, for the person who is asked: the entry comes from a web page or from
 * another program's file.
 * @see SEC-2 in docs/specification.md
 */

import { isJsonObject, type Json, type JsonObject, scalarText } from '../base/json.ts';
import { isLoopback } from '../base/loopback.ts';
import { wordInSentence } from '../base/shown-json.ts';
import { serverEntrySchema } from '../config/server-entry.ts';

/**
 * Variables that load other code into a command, or choose which code runs or where it is fetched from: of the loader,
 * shells, interpreters, package managers and git, and those that replace a server's certificates or its route.
 */
const loaders = new RegExp(
  `^(?:${[
    '(?:LD|DYLD)_\\w+|GCONV_PATH|GLIBC_TUNABLES|LIBPATH|SHLIB_PATH|PATH|PATHEXT|COMSPEC',
    'BASH_ENV|ENV|BASH_FUNC_.*|SHELLOPTS|BASHOPTS|PROMPT_COMMAND|PS4|IFS|ZDOTDIR|SHELL',
    'NODE_\\w+|(?:NPM|YARN|PNPM|BUN|DENO|COREPACK)_.*|NPX_.*|TSX_\\w+|TS_NODE_\\w+',
    'PYTHON\\w*|(?:PIP|PIPX|UV|POETRY|CONDA|VIRTUAL)_\\w+|VIRTUAL_ENV',
    'PERL\\w+|RUBY\\w+|GEM_\\w+|BUNDLE_\\w+|PHPRC|PHP_INI_SCAN_DIR|LUA_\\w+',
    'J(?:DK|RE)_JAVA_OPTIONS|_?JAVA_(?:TOOL_)?OPTIONS|JAVA_OPTS|CLASSPATH|(?:MAVEN|GRADLE|SBT|ANT)_(?:OPTS|ARGS)',
    'DOTNET_\\w+|CORECLR_\\w+|COR_(?:ENABLE_PROFILING|PROFILER\\w*)|NUGET_\\w+',
    'GO(?:FLAGS|PROXY|NOSUMDB|SUMDB|INSECURE|TOOLCHAIN|ENV)|CARGO_.*|RUSTC\\w*|RUSTFLAGS|RUSTUP_\\w+',
    'GIT_\\w+|SSH_ASKPASS|(?:GIT_)?(?:EDITOR|PAGER)|VISUAL|DOCKER_(?:HOST|CONFIG|CONTEXT)|HOMEBREW_\\w+',
    '(?:HTTPS?|ALL|FTP|NO)_PROXY|SSL_CERT_(?:FILE|DIR)|CURL_(?:CA_BUNDLE|HOME)|REQUESTS_CA_BUNDLE|OPENSSL_(?:CONF|MODULES|ENGINES)',
  ].join('|')})$`,
  'i',
);

/**
 * One sentence per lowered guard, beginning with the key; empty if the entry lowers none.
 * @param isPlain includes those that a reader of the entry sees: its trust, and that it sets variables
 */
export function loweredGuards(config: JsonObject, isPlain = true): readonly string[] {
  const { trust, ssl_verify: verify, env, client_cert: cert, client_key: key, cross_origin_redirects: leads } = config;
  // The third of a list is the key's password.
  const files = [...textsOf(cert).slice(0, 2), ...textsOf(key)].map(wordInSentence);
  const roots = textsOf(config.roots).map(wordInSentence);
  const ruled = Array.isArray(config.approvals) && config.approvals.length > 0;
  const variables = isJsonObject(env) ? Object.keys(env).map(wordInSentence) : [];
  return [
    ...(isPlain && (trust === undefined || trust === 'full') ? ['trust: its tools run without asking you.'] : []),
    ...(ruled ? ['approvals: the calls that it lists run without asking you.'] : []),
    ...(verify === false ? ['ssl_verify: anyone between you and the server can read and change everything.'] : []),
    ...(typeof verify === 'string' ? [`ssl_verify: it trusts the certificates in ${wordInSentence(verify)}.`] : []),
    ...(leads === true ? ['cross_origin_redirects: what you send may be taken to other servers.'] : []),
    ...redirectOf(config.oauth),
    ...samplingOf(config.sampling),
    ...(files.length > 0 ? [`client_cert, client_key: it logs in with ${files.join(' and ')} of this computer.`] : []),
    ...(roots.length > 0 ? [`roots: it is given the folders ${roots.join(', ')}.`] : []),
    // Such as `python -m`, which takes its modules from there, or `npx`, whose settings and packages may lie there.
    ...(typeof config.cwd === 'string'
      ? [`cwd: the command starts in ${wordInSentence(config.cwd)}, and may load code from there.`]
      : []),
    ...(isPlain && variables.length > 0 ? [`env: it sets ${variables.join(', ')} for the command.`] : []),
    ...loadersOf(env).map(
      ([name, value]) => `env: ${name}=${wordInSentence(value)} can load other code into the command.`,
    ),
  ];
}

/** The authorization server may be another's: the server of the link then chooses only where its code goes. */
function redirectOf(oauth: Json | undefined): readonly string[] {
  const given = isJsonObject(oauth) ? scalarText(oauth.redirect_uri) : '';
  if (given === '' || (URL.canParse(given) && isLoopback(new URL(given).hostname))) return [];
  return [`oauth: the answer to your login is taken to ${wordInSentence(given)}.`];
}

/** Requests of the server to your model, beyond the default limits. */
function samplingOf(sampling: Json | undefined): readonly string[] {
  if (!isJsonObject(sampling) || sampling.enabled === false) return [];
  const limits = serverEntrySchema.properties.sampling.properties;
  const { max_rpm: rate, max_tokens_cap: tokens, model, allowed_models: allowed } = sampling;
  const models = [...textsOf(model), ...textsOf(allowed)].map(wordInSentence);
  const asks = [
    ...(Number(rate) > limits.max_rpm.default ? [`${rate} answers a minute`] : []),
    ...(Number(tokens) > limits.max_tokens_cap.default ? [`answers of ${tokens} tokens`] : []),
    ...(models.length > 0 ? [`answers of ${models.join(', ')}`] : []),
  ];
  return asks.length === 0 ? [] : [`sampling: at your cost it may ask a model for ${asks.join(', ')}.`];
}

function loadersOf(env: Json | undefined): readonly (readonly [string, string])[] {
  const set = isJsonObject(env) ? Object.entries(env) : [];
  return set.flatMap(([name, value]) => (loaders.test(name) ? [[name, scalarText(value)] as const] : []));
}

function textsOf(value: Json | undefined): readonly string[] {
  if (typeof value === 'string') return [value];
  return Array.isArray(value) ? value.flatMap(textsOf) : [];
}
