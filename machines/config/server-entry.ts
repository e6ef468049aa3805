/**
 * One entry of `mcp_servers`: its schema, the transport that each key belongs to, and rules that a schema cannot express.
 * @see CFG-1, CFG-5, CFG-6, FLT-2, OAU-5, SRV-2 and TLS-1 in docs/specification.md
 */

import { defined, isJsonObject, type Json, type JsonObject, scalarText } from '../base/json.ts';
import { isLoopback } from '../base/loopback.ts';
import { maxTimerSeconds } from '../base/timer.ts';
import { type Declared, declared } from './declared.ts';
import type { EntryFinding } from './diagnostic.ts';
import type { ConfigPath } from './document.ts';
import { textsIn, unresolvedReference } from './interpolate.ts';
import { mapping, someSeconds, text } from './schema-parts.ts';

const seconds = { type: 'number', minimum: 0 } as const;
/** For a wait that one timer can keep. */
const timed = { ...seconds, maximum: maxTimerSeconds } as const;
/** JSON Schema patterns have no flags, so both cases of each letter are listed. */
const boolWords = '^([Tt][Rr][Uu][Ee]|1|[Yy][Ee][Ss]|[Oo][Nn]|[Ff][Aa][Ll][Ss][Ee]|0|[Nn][Oo]|[Oo][Ff][Ff])$';
const boolLike = {
  anyOf: [
    { type: 'boolean', description: 'true/1/yes/on or false/0/no/off' },
    { enum: [0, 1] },
    { type: 'string', pattern: boolWords },
  ],
} as const;
const trustWords = ['full', 'untrusted'] as const;
const names = { anyOf: [text, { type: 'array', items: text }] } as const;
const stringMap = {
  type: 'object',
  additionalProperties: { type: ['string', 'number', 'boolean'] },
} as const;

export const serverEntrySchema = {
  ...mapping,
  description: 'One MCP server: a local one by `command`, a remote one by `url`.',
  properties: {
    command: { ...text, minLength: 1, description: 'Executable to launch (stdio).' },
    args: {
      type: 'array',
      items: { type: ['string', 'number', 'boolean'] },
      default: [],
      description: 'Arguments of the command.',
    },
    env: { ...stringMap, default: {}, description: 'Environment passed to the command.' },
    cwd: {
      ...text,
      minLength: 1,
      description: 'Folder to start the command in; the workspace, else the home, without it.',
    },
    roots: {
      type: 'array',
      items: { ...text, minLength: 1 },
      default: [],
      description: 'Folders that the server is given as its roots. They replace the folders of its own arguments.',
    },
    url: { ...text, description: 'Remote MCP endpoint, http or https.' },
    headers: { ...stringMap, default: {}, description: 'Headers sent to the remote server.' },
    cross_origin_redirects: {
      type: 'boolean',
      default: false,
      description:
        'Whether a redirect may take a request with a body, such as the arguments of a call, to another origin.',
    },
    ssl_verify: {
      type: ['boolean', 'string'],
      default: true,
      description: 'true: system CAs; false: no verification; or the path of a CA bundle.',
    },
    client_cert: {
      anyOf: [text, { type: 'array', items: text, minItems: 2, maxItems: 3 }],
      description: 'Client certificate: a PEM path, [cert, key], or [cert, key, password].',
    },
    client_key: { ...text, description: 'Key file of a client_cert that is one path.' },
    enabled: { type: 'boolean', default: true, description: 'false: no connection, no discovery, no tools.' },
    timeout: { ...someSeconds, default: 300, description: 'Tool-call timeout in seconds.' },
    connect_timeout: { ...someSeconds, default: 60, description: 'Connect timeout in seconds.' },
    protocol: { enum: ['auto', 'stateless', 'legacy'], default: 'auto', description: 'Which protocol era to speak.' },
    supports_parallel_tool_calls: {
      type: 'boolean',
      default: false,
      description: "Run this server's tools concurrently.",
    },
    skip_preflight: { type: 'boolean', default: false, description: 'Skip the content-type probe.' },
    transport: { enum: ['sse', 'http', 'streamable-http'], description: '`sse` selects the SSE transport.' },
    keepalive_interval: {
      ...timed,
      description: 'Seconds between liveness pings, at least 5; 180 over HTTP, off for stdio.',
    },
    lazy: { type: 'boolean', default: false, description: 'Connect at the first tool call.' },
    placement: {
      enum: ['all', 'one'],
      default: 'all',
      description:
        'Of gateways that share a database, `all` connect to the server, or `one`, through which the others use it.',
    },
    idle_timeout_seconds: {
      ...seconds,
      default: 0,
      description: 'Recycle after so many idle seconds; 0: never (stdio).',
    },
    max_lifetime_seconds: { ...seconds, default: 0, description: 'Recycle at this age in seconds; 0: never (stdio).' },
    lifecycle: {
      ...mapping,
      properties: {
        idle_timeout_seconds: { ...seconds, description: 'As beside it.' },
        max_lifetime_seconds: { ...seconds, description: 'As beside it.' },
      },
      description: 'Another place for the two recycling keys.',
    },
    tools: {
      ...mapping,
      properties: {
        include: { ...names, description: 'The only tools that are registered; it wins over exclude.' },
        exclude: { ...names, default: [], description: 'Tools that are not registered.' },
        resources: { ...boolLike, default: true, description: 'Whether tools that read its resources are offered.' },
        prompts: { ...boolLike, default: true, description: 'Whether tools that read its prompts are offered.' },
      },
      default: {},
      description: 'Which tools are registered.',
    },
    auth: { enum: ['oauth'], description: '`oauth`: OAuth 2.1 with PKCE (url servers).' },
    oauth: {
      ...mapping,
      properties: {
        flow: { enum: ['device', 'browser'], default: 'browser', description: 'How a person logs in.' },
        timeout: { ...someSeconds, default: 300, description: 'How long a device login waits, in seconds.' },
        client_id: { ...text, description: 'A client that is registered already.' },
        client_secret: { ...text, description: 'Its secret.' },
        token_endpoint_auth_method: { ...text, description: 'How the client authenticates for tokens.' },
        scope: { ...text, description: 'Scopes to ask for, separated by spaces.' },
        client_name: { ...text, description: 'The name to register under.' },
        redirect_uri: { ...text, description: 'Where the browser brings the code; https, or http on localhost.' },
        redirect_port: { type: 'integer', minimum: 1, maximum: 65_535, description: 'Port for it on this computer.' },
        client_metadata_url: { ...text, description: 'A client metadata document of your own.' },
        cimd: { type: 'boolean', default: true, description: 'false: never identifies by a metadata document.' },
        user_agent: { type: ['string', 'null'], description: 'User-Agent of requests for tokens.' },
      },
      default: {},
      description: 'OAuth options.',
    },
    sampling: {
      ...mapping,
      properties: {
        enabled: { type: 'boolean', default: true, description: 'false refuses them all.' },
        model: { ...text, description: 'The model to use, whatever the server prefers.' },
        allowed_models: {
          type: 'array',
          items: text,
          default: [],
          description: 'Models that it may choose among; empty: only that of agent.model.',
        },
        max_tokens_cap: { type: 'integer', minimum: 1, default: 4096, description: 'Tokens of one answer.' },
        timeout: { ...timed, default: 30, description: 'For one answer, in seconds.' },
        max_rpm: { type: 'integer', minimum: 0, default: 10, description: 'Requests per minute.' },
        max_tool_rounds: {
          type: 'integer',
          minimum: 0,
          default: 5,
          description: 'Rounds of tool calls in one request; without effect, because requests with tools are refused.',
        },
      },
      default: {},
      description: 'Policy for model requests of the server.',
    },
    elicitation: {
      ...mapping,
      properties: {
        enabled: { type: 'boolean', default: true, description: 'false refuses them all.' },
        timeout: { ...timed, default: 300, description: 'How long a person may take, in seconds.' },
      },
      default: {},
      description: "The server's requests for user input.",
    },
    max_result_chars: {
      type: 'integer',
      minimum: 1,
      default: 2_000_000,
      description: 'Characters of one tool result that are kept.',
    },
    circuit_breaker: {
      ...mapping,
      properties: {
        failures: { type: 'integer', minimum: 1, default: 5, description: 'How many in a row.' },
        reset_seconds: { ...timed, default: 30, description: 'How long calls are refused.' },
      },
      default: {},
      description: 'Transport failures in a row after which calls are refused, and for how long.',
    },
    trust: {
      anyOf: [{ enum: trustWords, description: trustWords.join(' or ') }, text],
      default: 'full',
      description:
        '`full` or `untrusted`, which asks before a tool runs that is not read-only, as any other word does.',
    },
    approvals: {
      type: 'array',
      items: {
        ...mapping,
        required: ['tool'],
        properties: {
          tool: { ...text, minLength: 1, description: "The server's own name of the tool." },
          arguments: {
            ...stringMap,
            description: 'Values by path that the arguments must have, such as `repo: acme/web`.',
          },
        },
      },
      default: [],
      description: 'Calls of an untrusted server that run without a question.',
    },
  },
} as const;

/** An entry with its defaults. Secret: it may contain tokens. */
export type WrittenServer = Declared<typeof serverEntrySchema>;

/** One MCP server entry after defaults and interpolation (CFG-1). */
export interface ServerEntry {
  readonly name: string;
  readonly enabled: boolean;
  readonly entry: WrittenServer;
  /** The first finding of an unusable entry (CFG-3). */
  readonly problem?: string;
  /** The findings of its references to variables that are not set. */
  readonly unset?: readonly string[];
}

const stdioOnly = ['args', 'env', 'cwd', 'idle_timeout_seconds', 'max_lifetime_seconds', 'lifecycle'] as const;
const httpOnly = [
  'headers',
  'cross_origin_redirects',
  'ssl_verify',
  'client_cert',
  'client_key',
  'skip_preflight',
  'transport',
  'auth',
  'oauth',
] as const;
/** References to the workspace have their own finding. */
const workspaceName = /^workspaceFolder(?:Basename)?$/;
const variableName = /^[A-Za-z_]\w*$/;
/** References of other programs, such as `input:key` and `NAME:-default`. */
const foreignName = /^\w+:/;
/** In an argument, others may be those of a shell. */
const editorName = /^(?:input|config|command|file):/;
/** Other programs write their timeouts in milliseconds; as seconds, these would be hours. */
const likelyMilliseconds = 10_000;
/** More frequent pings are noise (LIF-4). */
const shortestKeepaliveSeconds = 5;
const httpKeepaliveSeconds = 180;

/** Findings about an entry, interpolated or not, that the schema cannot express. */
export function checkServerEntry(entry: JsonObject): readonly EntryFinding[] {
  const findings: EntryFinding[] = [];
  const refuse = (path: ConfigPath, message: string, code: string): void => void findings.push({ path, message, code });
  // A value of the wrong type counts as present: the schema has reported it. A key without a value counts as absent.
  const hasCommand = isGiven(entry, 'command');
  const hasUrl = isGiven(entry, 'url');
  if (typeof entry.command === 'string' && /^https?:\/\//i.test(entry.command)) {
    // `claude mcp add` takes the address there.
    const message = 'has an address as command, which is a program; give it as url, on the command line by --url';
    refuse(['command'], message, 'server-command-address');
  } else if (hasCommand && hasUrl) {
    const message = 'has both command and url; keep the one that the server is reached by';
    refuse(['url'], message, 'server-two-transports');
  } else if (!Object.hasOwn(entry, 'command') && !Object.hasOwn(entry, 'url')) {
    const message = 'has neither command nor url; give a local server a command, a remote one a url';
    refuse([], message, 'server-no-transport');
  } else if (hasCommand || hasUrl) {
    const [foreign, kind] = hasCommand ? [httpOnly, 'url'] : [stdioOnly, 'command'];
    for (const key of foreign.filter((one) => isGiven(entry, one)))
      refuse([key], `${key} applies to servers with a ${kind} only; drop it`, 'server-key-transport');
  }
  if (typeof entry.url === 'string') findings.push(...checkUrl(entry.url));
  if (!hasCommand) findings.push(...checkClientKey(entry));
  if (isJsonObject(entry.oauth)) findings.push(...checkMetadataUrl(entry.oauth), ...checkRedirectUri(entry.oauth));
  return findings;
}

/**
 * Warnings about an interpolated entry: unset variables, unknown words for `trust`, rules that match nothing, unused settings
 * of a login, timeouts in milliseconds.
 */
export function doubtsOf(entry: JsonObject): readonly EntryFinding[] {
  const { trust } = entry;
  const doubts = unsetReferences(entry);
  if (typeof trust === 'string' && !(trustWords as readonly string[]).includes(trust)) {
    const message = `has trust "${trust}", which counts as untrusted; write full or untrusted`;
    doubts.push({ path: ['trust'], message, code: 'trust-unknown' });
  }
  if (isJsonObject(entry.oauth) && typeof entry.url === 'string' && entry.auth !== 'oauth') {
    const message = 'has oauth, which does nothing without auth: oauth; set it, or drop oauth';
    doubts.push({ path: ['oauth'], message, code: 'oauth-unused' });
  }
  for (const key of ['timeout', 'connect_timeout'] as const) {
    const seconds = entry[key];
    if (typeof seconds !== 'number' || seconds % 1_000 !== 0) continue;
    // Above the limit it has a finding already.
    if (seconds < likelyMilliseconds || seconds > maxTimerSeconds) continue;
    const message = `has ${key} ${seconds}, in seconds; write ${seconds / 1_000} if these are milliseconds`;
    doubts.push({ path: [key], message, code: 'timeout-milliseconds' });
  }
  return [...doubts, ...idleRules(entry)];
}

/** Rules of `approvals` that no call can match, because its server needs no approval or the tool is left out. */
function idleRules({ approvals, trust, tools }: JsonObject): EntryFinding[] {
  if (!Array.isArray(approvals) || approvals.length === 0) return [];
  if (trust === undefined || trust === 'full') {
    const message =
      'has approvals that match nothing, since a trusted server is never asked about; set trust: untrusted, or drop approvals';
    return [{ path: ['approvals'], message, code: 'approvals-unneeded' }];
  }
  const { include, exclude } = isJsonObject(tools) ? tools : {};
  return approvals.flatMap((rule: Json, index) => {
    const tool = isJsonObject(rule) && typeof rule.tool === 'string' ? rule.tool : undefined;
    if (tool === undefined) return [];
    const isLeftOut =
      include === undefined || include === null ? hasName(exclude, tool) : !hasName(include, tool) && !hasGlob(include);
    if (!isLeftOut) return [];
    const message = `has a rule in approvals for "${tool}", which tools leaves out; add the tool there, or drop the rule`;
    return [{ path: ['approvals', index, 'tool'], message, code: 'approvals-no-tool' }];
  });
}

function hasName(listed: Json | undefined, name: string): boolean {
  return [listed].flat().includes(name);
}

function hasGlob(listed: Json | undefined): boolean {
  return [listed].flat().some((one) => /[*?[\\]/.test(scalarText(one)));
}

/** The references that are left after interpolation, except to variables that a command gets and may replace itself. */
function unsetReferences(entry: JsonObject): EntryFinding[] {
  const own = isJsonObject(entry.env) ? entry.env : {};
  return textsIn(entry).flatMap(({ path, text }) => {
    const variable = unresolvedReference(text);
    if (variable === undefined || workspaceName.test(variable)) return [];
    const isArgument = path[0] === 'args';
    if (isArgument && Object.hasOwn(own, variable)) return [];
    if (!variableName.test(variable)) {
      const [kind] = (isArgument ? editorName : foreignName).exec(variable) ?? [];
      if (kind === undefined) return [];
      // What follows may be a default value, and a secret.
      const message = `refers to "\${${kind}…}" in ${path.join('.')}, which is not resolved here; put its value into .env, and refer to it as \${NAME}`;
      return [{ path, message, code: 'variable-unset' }];
    }
    const message = `refers to "${variable}" in ${path.join('.')}, which is not set; set ${variable} in .env or in the environment`;
    return [{ path, message, code: 'variable-unset' }];
  });
}

/** The entry with defaults, minimums and aliases applied. */
export function normaliseServerEntry(name: string, entry: JsonObject): ServerEntry {
  const { lifecycle, ...direct } = entry;
  const { trust = 'full' } = entry;
  const read = declared(serverEntrySchema, {
    ...(isJsonObject(lifecycle) ? lifecycle : {}),
    ...direct,
    // `declared` treats a value of the wrong type as absent, which would make the server trusted.
    ...(typeof trust === 'string' ? {} : { trust: 'untrusted' }),
  });
  const keepalive = keepaliveOf(read.keepalive_interval, read.command !== undefined);
  return { name, enabled: read.enabled, entry: defined({ ...read, keepalive_interval: keepalive }) };
}

function keepaliveOf(given: number | undefined, isStdio: boolean): number | undefined {
  if (given !== undefined) return Math.max(shortestKeepaliveSeconds, given);
  return isStdio ? undefined : httpKeepaliveSeconds;
}

function isGiven(entry: JsonObject, key: string): boolean {
  return Object.hasOwn(entry, key) && entry[key] !== null;
}

/** A key without a certificate would be ignored, and so would one beside a list that includes its own. */
function checkClientKey(entry: JsonObject): EntryFinding[] {
  if (!Object.hasOwn(entry, 'client_key')) return [];
  const refuse = (message: string, code: string): EntryFinding[] => [{ path: ['client_key'], message, code }];
  if (!Object.hasOwn(entry, 'client_cert'))
    return refuse('has client_key without client_cert; name the certificate, or drop client_key', 'client-key-alone');
  if (!Array.isArray(entry.client_cert)) return [];
  return refuse(
    'has client_key beside a list in client_cert, which names its own key; keep one of the two keys',
    'client-key-twice',
  );
}

function checkUrl(url: string): EntryFinding[] {
  // An unset reference is not a wrong URL; the connection will report what is missing.
  if (url.includes('${')) return [];
  // A parser treats what follows three slashes as the host, and accepts none at all.
  if (URL.canParse(url) && /^https?:\/\/[^/\\?#]/i.test(url)) return [];
  return [{ path: ['url'], message: 'url must be http or https with a host', code: 'server-url' }];
}

/** The redirect must lead to this computer or use https, so that the code cannot be intercepted. */
function checkRedirectUri({ redirect_uri: uri }: JsonObject): EntryFinding[] {
  if (typeof uri !== 'string' || uri.trim() === '' || uri.includes('${')) return [];
  const parsed = URL.canParse(uri) ? new URL(uri) : undefined;
  if (parsed?.protocol === 'https:' || (parsed?.protocol === 'http:' && isLoopback(parsed.hostname))) return [];
  const message = 'redirect_uri must be an https address, or http on localhost';
  return [{ path: ['oauth', 'redirect_uri'], message, code: 'redirect-uri' }];
}

/** The rules for a client metadata document's URL; checked unparsed, because parsing would normalise what is forbidden. */
function checkMetadataUrl(oauth: JsonObject): EntryFinding[] {
  const url = oauth.client_metadata_url;
  if (typeof url !== 'string' || url.includes('${')) return [];
  const path: ConfigPath = ['oauth', 'client_metadata_url'];
  const refuse = (message: string, code: string): EntryFinding[] => [
    { path, message: `client_metadata_url ${message}`, code },
  ];
  // A parser removes tabs and line ends and reads a backslash as a slash, which could hide dot segments.
  const isOdd = /[\s\\\p{Cc}]/u.test(url);
  if (isOdd || !url.startsWith('https://') || !URL.canParse(url))
    return refuse('must be an https URL', 'metadata-url-https');
  const [beforeFragment = '', ...fragment] = url.split('#');
  if (fragment.length > 0) return refuse('must have no fragment', 'metadata-url-fragment');
  const [authority = '', ...segments] = beforeFragment.slice('https://'.length).split('?')[0]?.split('/') ?? [];
  if (authority.includes('@')) return refuse('must hold no user name or password', 'metadata-url-userinfo');
  if (segments.join('') === '') return refuse('must have a path, not only an origin', 'metadata-url-path');
  if (segments.some((segment) => /^(\.|%2e){1,2}$/i.test(segment))) {
    return refuse('must have no "." or ".." in its path', 'metadata-url-dots');
  }
  return [];
}
