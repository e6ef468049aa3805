/**
 * Converts another program's server into our entry: keys by meaning, references in our syntax, and a note on everything
 * without a counterpart. Does not decide about taken names.
 * @see CLI-5 and CFG-1 in docs/specification.md
 */

import { defined, isJsonObject, type Json, type JsonObject, scalarText } from '../base/json.ts';
import { wordInSentence, wordOfCommand } from '../base/shown-json.ts';
import type { Schema } from '../config/check-schema.ts';
import { serverEntrySchema } from '../config/server-entry.ts';
import { type ForeignProgram, type ForeignServer, objectOf, texts } from './foreign-files.ts';
import { ownReferences, type WantedVariable } from './foreign-references.ts';
import { isSecret, type TakenSecret } from './secret-places.ts';

interface ImportedServer {
  readonly entry: JsonObject;
  readonly wanted: readonly WantedVariable[];
  /** Secrets that the entry refers to by their names in its file, which has their values too. */
  readonly given: readonly TakenSecret[];
  /** What could not be imported, and what to check. */
  readonly notes: readonly string[];
}

interface ImportPlace {
  readonly program: ForeignProgram;
  readonly workspace: string | undefined;
  /** Whether `.env` or the environment has the variable. */
  readonly isSet: (variable: string) => boolean;
}

export type ImportVerdict =
  | ({ readonly kind: 'imported' } & ImportedServer)
  | { readonly kind: 'unusable'; readonly why: string };

export function importServer(server: ForeignServer, place: ImportPlace): ImportVerdict {
  const wanted: WantedVariable[] = [];
  const given: TakenSecret[] = [];
  const notes: string[] = [];
  const value = flattened(server.value, place.program, { wanted, given, notes });
  const remote = addressOf(value);
  if (typeof value.command !== 'string' && typeof remote !== 'string') {
    const isExtension = place.program === 'zed' && value.settings !== undefined;
    const why = isExtension
      ? 'an extension of Zed starts it; add the command of its server by `agent mcp add`'
      : 'it has neither a command nor a url';
    return { kind: 'unusable', why };
  }
  if (typeof value.command !== 'string' && !/^(https?:|\$\{)/i.test(String(remote))) {
    const [way = ''] = String(remote).split(':', 1);
    return { kind: 'unusable', why: `its url is not http or https but ${wordInSentence(way.slice(0, 20))}` };
  }
  const mapped = place.program === 'hermes' ? fromHermes(value, notes) : fromJson(value, place.program, notes);
  const own = isLiteral(place.program) ? mapped : referred(mapped, server, place, { wanted, notes });
  const entry = startedIn(server.folder ?? place.workspace, own);
  if (servesGateway(entry)) {
    const why =
      'it is `agent mcp serve`, which offers the tools of a gateway; add that of another home by `agent mcp add`';
    return { kind: 'unusable', why };
  }
  if (entry.enabled === false) notes.push('it is switched off there, and stays so here');
  if (entry.url !== undefined && entry.headers === undefined && entry.auth === undefined) {
    notes.push('if it asks for a login, set auth: oauth and run `agent mcp login`');
  }
  const isGiven = (name: string): boolean => given.some(({ variable }) => variable === name);
  return { kind: 'imported', entry, wanted: wanted.filter(({ variable }) => !isGiven(variable)), given, notes };
}

/** The other program starts a folder's server in that folder; here it would start in the home. */
function startedIn(folder: string | undefined, entry: JsonObject): JsonObject {
  if (folder === undefined || entry.command === undefined) return entry;
  const { cwd } = entry;
  if (typeof cwd !== 'string') return { ...entry, cwd: folder };
  // A path from a root, a user's home, a reference or a drive does not depend on the folder.
  return /^(?:[/\\~$]|[A-Za-z]:)/.test(cwd) ? entry : { ...entry, cwd: `${folder}/${cwd.replace(/^\.(?:\/|$)/, '')}` };
}

/** As a server of its own gateway it lists the tools of the gateway, which then include its own: they grow without end. */
function servesGateway({ command, args }: JsonObject): boolean {
  const words = [scalarText(command), ...texts(args)];
  return words.some(
    (word, at) => /(?:^|[\\/])agent(?:-gateway)?$/.test(word) && words[at + 1] === 'mcp' && words[at + 2] === 'serve',
  );
}

/** Codex, Claude Desktop and Zed have no references; the others do, each with its own syntax. */
export function isLiteral(program: ForeignProgram): boolean {
  return program === 'codex' || program === 'claude-desktop' || program === 'zed';
}

interface Findings {
  readonly wanted: WantedVariable[];
  readonly given: TakenSecret[];
  readonly notes: string[];
}

/** OpenCode's command is a list, and that of older versions of Zed an object; goose, OpenClaw and Codex have other names. */
function flattened(written: JsonObject, program: ForeignProgram, findings: Findings): JsonObject {
  if (program === 'goose') return ofGoose(written, findings);
  if (program === 'openclaw') return ofOpenClaw(written);
  if (program === 'codex') return ofCodex(written, findings);
  const { command, environment, ...rest } = written;
  if (Array.isArray(command)) {
    const [executable, ...args] = command as readonly Json[];
    return defined({ ...rest, command: executable, args, env: environment });
  }
  if (isJsonObject(command)) return defined({ ...rest, command: command.path, args: command.args, env: command.env });
  return defined({ ...rest, command, environment });
}

/** What `env_keys` names is in goose's keyring. Its timeout is in seconds, and an empty list of tools means all. */
function ofGoose(
  { cmd, uri, headers, envs, env_keys, timeout, available_tools, ...rest }: JsonObject,
  { given }: Findings,
): JsonObject {
  const kept = Object.fromEntries(texts(env_keys).map((name) => [name, `\${${name}}`]));
  const env = { ...kept, ...objectOf(rest.env), ...objectOf(envs) };
  const replaced = (text: Json): Json => (typeof text === 'string' ? withValues(text, env, given) : text);
  return defined({
    ...rest,
    command: cmd,
    url: uri === undefined ? undefined : replaced(uri),
    headers: Object.fromEntries(Object.entries(objectOf(headers)).map(([name, text]) => [name, replaced(text)])),
    env,
    timeout: milliseconds(timeout),
    includeTools: texts(available_tools).length > 0 ? available_tools : rest.includeTools,
  });
}

/**
 * In an address and in headers, goose replaces the variables of the entry alone, written `$NAME` or `${NAME}`. Those with a
 * secret become references.
 */
function withValues(text: string, env: JsonObject, given: TakenSecret[]): string {
  return text.replace(/\$(?:\{\s*([A-Za-z_]\w*)\s*\}|([A-Za-z_]\w*))/g, (whole, braced?: string, bare?: string) => {
    const variable = braced ?? bare ?? '';
    if (!Object.hasOwn(env, variable)) return whole;
    const value = scalarText(env[variable]);
    if (!isSecret(variable, value)) return value;
    given.push({ variable, value });
    return `\${${variable}}`;
  });
}

/** Its transport is the older one unless it names another. The timeouts without a unit in their names are in seconds. */
function ofOpenClaw({
  cwd,
  workingDirectory,
  timeout,
  requestTimeoutMs,
  connectTimeout,
  connectionTimeoutMs,
  toolFilter,
  transport,
  type,
  ...rest
}: JsonObject): JsonObject {
  const { include, exclude } = objectOf(toolFilter);
  return defined({
    ...rest,
    env: referring(rest.env),
    headers: referring(rest.headers),
    cwd: cwd ?? workingDirectory,
    timeout: requestTimeoutMs ?? milliseconds(timeout),
    connectionTimeoutMs: connectionTimeoutMs ?? milliseconds(connectTimeout),
    includeTools: include ?? rest.includeTools,
    excludeTools: exclude ?? rest.excludeTools,
    type: transport ?? type ?? 'sse',
  });
}

/** Some of its values are names of variables. Its timeout of calls is read by `fromJson`. */
function ofCodex(written: JsonObject, { wanted, notes }: Findings): JsonObject {
  const { env_vars, bearer_token, bearer_token_env_var, http_headers, env_http_headers, scopes, oauth, ...more } =
    written;
  const { startup_timeout_sec, startup_timeout_ms, enabled_tools, disabled_tools, ...last } = more;
  const { supports_parallel_tool_calls, ...rest } = last;
  const referred = (variable: string): string => {
    wanted.push({ variable, why: 'Codex reads it from the environment' });
    return `\${${variable}}`;
  };
  // Any other name would write lines of its own into .env.
  const isVariable = (name: string): boolean => {
    const isOne = /^[A-Za-z_][A-Za-z0-9_]*$/.test(name);
    if (!isOne) notes.push(`not imported, for no variable has such a name: ${wordInSentence(name)}`);
    return isOne;
  };
  const forwarded = namesIn(env_vars).flatMap((name) => (isVariable(name) ? [[name, referred(name)] as const] : []));
  const fromEnv = Object.entries(objectOf(env_http_headers)).flatMap(([header, name]) =>
    isVariable(scalarText(name)) ? [[header, referred(scalarText(name))] as const] : [],
  );
  const bearer =
    typeof bearer_token_env_var === 'string' && isVariable(bearer_token_env_var)
      ? { Authorization: `Bearer ${referred(bearer_token_env_var)}` }
      : typeof bearer_token === 'string'
        ? { Authorization: `Bearer ${bearer_token}` }
        : {};
  // A token replaces the login, in both programs.
  const hasLogin = Object.keys(bearer).length === 0 && (isJsonObject(oauth) || texts(scopes).length > 0);
  return defined({
    ...rest,
    env: { ...objectOf(rest.env), ...Object.fromEntries(forwarded) },
    headers: { ...objectOf(rest.headers), ...objectOf(http_headers), ...Object.fromEntries(fromEnv), ...bearer },
    oauth: hasLogin ? { ...objectOf(oauth), ...defined({ scopes }) } : undefined,
    connectionTimeoutMs: milliseconds(startup_timeout_sec) ?? startup_timeout_ms ?? rest.connectionTimeoutMs,
    includeTools: enabled_tools ?? rest.includeTools,
    excludeTools: disabled_tools ?? rest.excludeTools,
    supportsParallelToolCalls: supports_parallel_tool_calls ?? rest.supportsParallelToolCalls,
  });
}

/** Anything else is returned as it is, and noted as left out. */
function milliseconds(seconds: Json | undefined): Json | undefined {
  return isPositive(seconds) ? seconds * 1_000 : (seconds ?? undefined);
}

function isPositive(value: Json | undefined): value is number {
  return typeof value === 'number' && value > 0;
}

/** A secret of the environment may be an object that names it. */
function referring(texts: Json | undefined): Json | undefined {
  if (!isJsonObject(texts)) return texts;
  return Object.fromEntries(
    Object.entries(texts).map(([name, value]) => {
      const { source, id } = objectOf(value);
      return [name, source === 'env' && typeof id === 'string' ? `\${${id}}` : value];
    }),
  );
}

/** Hermes Agent has the same keys, except those that only one of the two has; its `args` may be one text. */
function fromHermes(value: JsonObject, notes: string[]): JsonObject {
  const { args, env, headers, ...known } = knownOf(value, serverEntrySchema, '', notes);
  const words = typeof args === 'string' ? args.split(/\s+/).filter(Boolean) : args;
  return defined({
    ...known,
    args: Array.isArray(words) && words.length === 0 ? undefined : words,
    env: filled(env),
    headers: filled(headers),
  });
}

/** The members that the schema knows, at any depth. */
function knownOf(value: JsonObject, { properties = {} }: Schema, place: string, notes: string[]): JsonObject {
  const known: [string, Json][] = [];
  const others: [string, Json][] = [];
  for (const [key, held] of Object.entries(value)) {
    const own = Object.hasOwn(properties, key) ? properties[key] : undefined;
    if (own === undefined) others.push([`${place}${key}`, held]);
    else if (own.properties === undefined || !isJsonObject(held)) known.push([key, held]);
    else known.push([key, knownOf(held, own, `${place}${key}.`, notes)]);
  }
  leaveOut(Object.fromEntries(others), notes);
  return Object.fromEntries(known);
}

function referred(
  mapped: JsonObject,
  server: ForeignServer,
  { program, workspace, isSet }: ImportPlace,
  { wanted, notes }: { readonly wanted: WantedVariable[]; readonly notes: string[] },
): JsonObject {
  const unknown = new Set<string>();
  const entry = ownReferences(mapped, { server, program, workspace, isSet, wanted, unknown }) as JsonObject;
  if (unknown.size > 0)
    notes.push(`means nothing here, put its value there: ${[...unknown].map(wordOfCommand).join(', ')}`);
  return entry;
}

/** Keys that repeat others, or that only the other program's user interface needs. */
const silent: ReadonlySet<string> = new Set([
  'type',
  'name',
  'description',
  'gallery',
  'version',
  'source',
  'display_name',
  'bundled',
  'alwaysAllow',
  'autoApprove',
]);

function fromJson(value: JsonObject, program: ForeignProgram, notes: string[]): JsonObject {
  const {
    command,
    args,
    env,
    cwd,
    url: _url,
    serverUrl: _serverUrl,
    httpUrl: _httpUrl,
    headers,
    type,
    transport,
    transportType,
    disabled,
    enabled,
    timeout,
    oauth,
    auth,
    tools,
    includeTools,
    excludeTools,
    disabledTools,
    connectionTimeoutMs,
    sslVerify,
    clientCert,
    clientKey,
    supportsParallelToolCalls,
    default_tools_approval_mode: approval,
    tool_timeout_sec: seconds,
    ...rest
  } = value;
  const remote = addressOf(value);
  const isStdio = typeof command === 'string';
  const login = isJsonObject(oauth) ? oauth : isJsonObject(auth) ? auth : auth === 'oauth' ? {} : undefined;
  // Codex uses seconds, the others milliseconds; of these, a value below a thousand was meant as seconds by mistake, and is
  // left out. OpenCode's is that of the listing of tools.
  const isTimed = typeof timeout === 'number' && timeout >= 1_000 && program !== 'opencode';
  const asks = approval === 'prompt';
  // Copilot's list of the tools that it may use.
  const listed = Array.isArray(tools) && !texts(tools).includes('*') ? tools : undefined;
  // Of another form, or of the other transport.
  const unread = {
    args: isStdio && Array.isArray(args) ? undefined : unlessEmpty(args),
    env: isStdio && isJsonObject(env) ? undefined : unlessEmpty(env),
    url: isStdio ? unlessEmpty(remote) : undefined,
    headers: !isStdio && isJsonObject(headers) ? undefined : unlessEmpty(headers),
    timeout: isTimed ? undefined : timeout,
    tools: Array.isArray(tools) ? undefined : tools,
    tool_timeout_sec: isPositive(seconds) ? undefined : seconds,
    default_tools_approval_mode: asks ? undefined : approval,
  };
  leaveOut({ ...rest, ...defined(unread) }, notes);
  return defined({
    command: isStdio ? command : undefined,
    args: isStdio && Array.isArray(args) && args.length > 0 ? args : undefined,
    env: isStdio ? filled(env) : undefined,
    cwd: isStdio && typeof cwd === 'string' ? cwd : undefined,
    url: isStdio ? undefined : remote,
    transport:
      !isStdio && isSse(type ?? transport ?? transportType, String(remote), { program, notes }) ? 'sse' : undefined,
    headers: isStdio ? undefined : filled(headers),
    enabled: disabled === true || enabled === false ? false : undefined,
    timeout: isPositive(seconds) ? seconds : isTimed ? timeout / 1_000 : undefined,
    connect_timeout: isPositive(connectionTimeoutMs) ? connectionTimeoutMs / 1_000 : undefined,
    ssl_verify: !isStdio && sslVerify === false ? false : undefined,
    client_cert: isStdio ? undefined : clientCert,
    client_key: isStdio ? undefined : clientKey,
    supports_parallel_tool_calls: supportsParallelToolCalls === true ? true : undefined,
    trust: asks ? 'untrusted' : undefined,
    tools: toolsOf(includeTools ?? listed, [...texts(excludeTools), ...texts(disabledTools)]),
    ...(isStdio || login === undefined ? {} : loginOf(login, notes)),
  });
}

const fallingBack: ReadonlySet<ForeignProgram> = new Set(['cursor', 'vscode', 'gemini-cli', 'windsurf', 'opencode']);

/** These programs fall back from the newer transport to the older one, so their files need not name it. */
function isSse(
  type: Json | undefined,
  url: string,
  { program, notes }: { readonly program: ForeignProgram; readonly notes: string[] },
): boolean {
  if (type === 'sse') return true;
  // Claude Code demands a type, so an entry without one is copied from a program that does not.
  const fallsBack = fallingBack.has(program) || (program === 'claude-code' && type === undefined);
  if (!fallsBack || !/\/sse\/?(?:[?#]|$)/.test(url)) return false;
  notes.push('taken for the sse transport by its url; drop transport if it speaks the newer one');
  return true;
}

/** Some programs copy the files of others, so each key is read wherever it appears. */
function addressOf({ url, serverUrl, httpUrl }: JsonObject): Json | undefined {
  // Gemini CLI, whose `url` was the older transport, prefers `httpUrl`.
  return [httpUrl, serverUrl, url].find((one) => typeof one === 'string');
}

/** The others apply their denials to their allowlist; here an allowlist wins. An empty one allows nothing, in all programs. */
function toolsOf(allowed: Json | undefined, denied: readonly string[]): JsonObject | undefined {
  if (Array.isArray(allowed)) return { include: texts(allowed).filter((tool) => !denied.includes(tool)) };
  return denied.length > 0 ? { exclude: denied } : undefined;
}

/** Names of variables, some of them with Codex's source. */
function namesIn(variables: Json | undefined): readonly string[] {
  if (!Array.isArray(variables)) return [];
  return texts((variables as readonly Json[]).map((one) => (isJsonObject(one) ? (one.name ?? null) : one)));
}

/** Claude Code's, Cursor's and Codex's keys for the same thing. */
function loginOf(login: JsonObject, notes: string[]): JsonObject {
  const { scopes, scope, clientId, CLIENT_ID, client_id, ...more } = login;
  const { clientSecret, CLIENT_SECRET, client_secret, callbackPort, ...rest } = more;
  const asked = scopes ?? scope;
  leaveOut(Object.fromEntries(Object.entries(rest).map(([key, value]) => [`oauth.${key}`, value])), notes);
  const oauth = defined({
    client_id: clientId ?? CLIENT_ID ?? client_id,
    client_secret: clientSecret ?? CLIENT_SECRET ?? client_secret,
    redirect_port: callbackPort,
    scope: Array.isArray(asked) ? texts(asked).join(' ') : asked,
  });
  return defined({ auth: 'oauth', oauth: filled(oauth) });
}

function leaveOut(rest: JsonObject, notes: string[]): void {
  const left = Object.keys(rest).filter((key) => !silent.has(key));
  if (left.length > 0) notes.push(`not imported: ${left.map(wordInSentence).join(', ')}`);
}

function unlessEmpty(value: Json | undefined): Json | undefined {
  const isEmpty = typeof value === 'object' ? Object.keys(value ?? {}).length === 0 : value === '';
  return isEmpty ? undefined : value;
}

function filled(value: Json | undefined): JsonObject | undefined {
  // VS Code's null removes a variable, which is not inherited here.
  const map = Object.fromEntries(Object.entries(objectOf(value)).filter(([, held]) => held !== null));
  return Object.keys(map).length > 0 ? map : undefined;
}
