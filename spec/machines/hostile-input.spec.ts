/** The rules that read what comes from outside, against hostile input; those with a stream or a network are in `spec/actors`. */

import t from 'tap';
import { filterChecker } from '../../actors/config/load-config.ts';
import { createEventReader } from '../../machines/agent/event-stream.ts';
import { answerOf, emptyDraft } from '../../machines/agent/model-draft.ts';
import { readEvent, readWhole } from '../../machines/agent/model-wire.ts';
import { readableText } from '../../machines/agent/readable-text.ts';
import { readSkill } from '../../machines/agent/skill.ts';
import { isJsonObject, type Json, type JsonObject } from '../../machines/base/json.ts';
import { defaultProfile } from '../../machines/base/names.ts';
import { readJson } from '../../machines/base/read-json.ts';
import { readTraceparent } from '../../machines/base/traceparent.ts';
import { editConfig, valueAt } from '../../machines/config/edit.ts';
import { parseEnvFile } from '../../machines/config/env-file.ts';
import { parseJsonc, parseToml } from '../../machines/config/foreign-text.ts';
import { interpolate, variablesIn } from '../../machines/config/interpolate.ts';
import { readConfig } from '../../machines/config/read-config.ts';
import { routeSchema } from '../../machines/config/route.ts';
import { serverEntrySchema } from '../../machines/config/server-entry.ts';
import { editSubscriptions } from '../../machines/config/subscription.ts';
import { putJob, readJobs } from '../../machines/cron/edit-jobs.ts';
import { readSchedule } from '../../machines/cron/expression.ts';
import { timingOf } from '../../machines/cron/job.ts';
import { retryAfterMs } from '../../machines/dispatch/retry-after.ts';
import { checkElicitationValues } from '../../machines/mcp/elicitation-values.ts';
import {
  deniedIn,
  type ForeignProgram,
  serversElsewhere,
  serversIn,
  switchedOffIn,
} from '../../machines/mcp/foreign-files.ts';
import { matchesGlob } from '../../machines/mcp/glob.ts';
import { readInstallLink } from '../../machines/mcp/install-link.ts';
import { planImport } from '../../machines/mcp/plan-import.ts';
import { readCache } from '../../machines/mcp/schema-cache.ts';
import { admitElicitation, admitSampling } from '../../machines/mcp/server-request.ts';
import { cleanTool } from '../../machines/mcp/strip-tags.ts';
import { mergeNames, namesOfServer } from '../../machines/mcp/tool-name.ts';
import { shapeResult } from '../../machines/mcp/tool-result.ts';
import { templateMatcher } from '../../machines/mcp/uri-template.ts';
import { checkDocument } from '../../machines/oauth/metadata-document.ts';
import { pastedQuery, readRedirect } from '../../machines/oauth/redirect-answer.ts';
import { chooseScope } from '../../machines/oauth/scope.ts';
import { readTokenRecord, recordOf } from '../../machines/oauth/token-record.ts';
import { parseBody } from '../../machines/webhook/body.ts';
import { compileCoalesceKey } from '../../machines/webhook/coalesce.ts';
import { deliveryIdOf, eventTypeOf } from '../../machines/webhook/envelope.ts';
import { compileFilters } from '../../machines/webhook/filter.ts';
import { readTarget } from '../../machines/webhook/routes.ts';
import { readScriptOutcome } from '../../machines/webhook/script-outcome.ts';
import { compileExtra, compileTemplate } from '../../machines/webhook/template.ts';
import { signatureVerifier } from '../../machines/webhook/verifier.ts';
import { readMessage } from '../../runtime/control/protocol.ts';
import { readHash } from '../../runtime/inspector/page/data/hash.ts';
import { checkParser, type HostileParser } from '../support/hostile.ts';
import { readSubscriptions } from '../support/read-config.ts';

const nowMs = 1_700_000_000_000;
const checkFilters = filterChecker('/home/of/nobody');
const verify = signatureVerifier({}, { kind: 'shared', secret: 'whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQ=' });
const scope = { secrets: new Map([['A', '${A}']]), env: { B: 'b' }, userHome: '/home/me', pathSeparator: '/' };
const objectOf = (text: string): JsonObject => {
  const value = readJson(text);
  return isJsonObject(value) ? value : {};
};
const jsonOf = (text: string): Json => readJson(text) ?? null;
/** Reads JSON text by a rule for a value. */
const ofObject = (read: (value: JsonObject) => unknown) => (text: string) => read(objectOf(text));
const quoted = (inner: string): string => JSON.stringify(inner);

const headerNames = ['webhook-signature', 'webhook-id', 'webhook-timestamp', 'x-hub-signature-256', 'x-gitlab-token'];
const moreHeaders = [
  'x-webhook-signature-v2',
  'x-webhook-timestamp',
  'x-webhook-signature',
  'x-github-event',
  'x-gitlab-event',
];
const payload = { a: { b: ['x'] }, text: '{a}', n: 1 };
const jsonParts = ['{"a":', '[', '"a"', ',', 'null', '1e5', '\\u0000', '"__proto__":', ' '];
const settings = [
  'platforms',
  'webhook',
  'extra',
  'routes',
  'mcp_servers',
  'agent',
  'gateway',
  'enabled',
  'command',
  'url',
];
const serverKeys = Object.keys(serverEntrySchema.properties);
const routeKeys = Object.keys(routeSchema.properties);

const yaml = (text: string): unknown => {
  const read = readConfig({
    file: 'config.yaml',
    text,
    profile: defaultProfile,
    profiles: new Set(['default']),
    scope,
    checkFilters,
    isFolder: () => false,
  });
  return [
    read.settings,
    read.diagnostics,
    editConfig(text, [{ path: ['agent', 'runner'], value: 'echo' }]),
    valueAt(text, ['agent']),
  ];
};

const importOf = (program: ForeignProgram, value: Json): unknown => {
  const file = { program, path: '/home/me/.x/settings.json', form: 'json' } as const;
  const place = { folder: '/home/me/p', userHome: '/home/me' };
  const found = serversIn(file, value, place).map((server) => ({ file, server }));
  return [
    planImport({ found, config: {}, secrets: new Map(), env: {}, userHome: place.userHome }),
    switchedOffIn(value, '/home/me/p'),
    deniedIn(value),
    serversElsewhere(file, value, place),
  ];
};

const parsers: readonly HostileParser[] = [
  {
    name: 'SIG-2 · signatures of every scheme, and the headers of an event',
    parts: ['sha256=', 'v1,', 'v1=', ' ', ',', 'abc=', '0f', '1700000000', '-1', '=', 'whsec_'],
    frames: [...headerNames, ...moreHeaders].map((name) => (inner) => `${name}\n${inner}`),
    read(text) {
      const [name = '', value = ''] = text.split('\n', 2);
      const others = { 'webhook-id': 'a', 'webhook-timestamp': '1700000000', 'x-webhook-timestamp': '1700000000' };
      const headers = { ...others, [name]: Buffer.from(value).toString('latin1') };
      const body = Buffer.from(text);
      return [verify({ headers, body, nowMs }), eventTypeOf(headers, {}), deliveryIdOf(headers, body)];
    },
  },
  {
    name: 'RTE-3 · paths of requests',
    parts: ['/webhooks/', '/p/', 'default', '/health', '%2F', '%', '%C0%80', 'a', '?', '..', '//'],
    frames: [(inner) => `/webhooks/${inner}`, (inner) => `/p/${inner}/webhooks/x`, (inner) => `/p/x/webhooks/${inner}`],
    read: readTarget,
  },
  {
    name: 'LIM-3 · bodies of JSON',
    parts: jsonParts,
    fields: ['a', 'payload', 'event_type', 'type'],
    read: (text) => parseBody(text, { 'content-type': 'application/json' }),
  },
  {
    name: 'LIM-3 · bodies of forms',
    parts: ['payload=', 'a=1&', '&', '=', '%7B', '%', '+', '%F0%9F', '__proto__=1&'],
    frames: [(inner) => `payload=${encodeURIComponent(inner.toWellFormed())}`],
    read: (text) => parseBody(text, { 'content-type': 'application/x-www-form-urlencoded' }),
  },
  {
    name: 'LIM-3 · bodies of forms with parts',
    parts: ['--x', '\r\n--x\r\n', '--x--', '\r\n\r\n', 'Content-Type: text/csv', '; name="a"', '; name="', '\\"', 'a='],
    frames: [
      (inner) => `--x\r\nContent-Disposition: form-data${inner}; name="a"\r\n\r\n1\r\n--x--`,
      (inner) => `--x\r\n${inner}\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--x--`,
      (inner) => `--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n${inner}\r\n--x--`,
    ],
    read: (text) => parseBody(text, { 'content-type': 'multipart/form-data; boundary=x' }),
  },
  {
    name: 'LIM-3 · the type of a form with parts',
    parts: ['; boundary=', 'x', '"', '\\"', ';', ' ', '='],
    read: (text) => parseBody('--x--', { 'content-type': `multipart/form-data${text}` }),
  },
  {
    name: 'TPL-1 · templates',
    parts: ['{a.b}', '{__raw__}', '{a.b.0}', '{', '}', '{a', '{.}', '{..}', '{__proto__}', '{event_type}'],
    read(text) {
      const view = { payload, eventType: 'push' };
      return [
        compileTemplate(text).render(view),
        compileCoalesceKey(text)(view),
        compileExtra({ a: [text], [text]: text }).render(view),
      ];
    },
  },
  {
    name: 'TPL-1 · payloads in a template and a coalescing key',
    parts: jsonParts,
    fields: ['a', 'b', 'text', '0'],
    read: ofObject((value) => [
      compileTemplate('{__raw__}{a}{a.b}{a.b.0}{text}').render({ payload: value, eventType: '' }),
      compileCoalesceKey('{a}{text}')({ payload: value, eventType: '' }),
      eventTypeOf({}, value),
    ]),
  },
  {
    name: 'FIL-2 · filters as they are written',
    parts: jsonParts,
    fields: ['field', 'equals', 'not_equals', 'contains', 'in', 'in_file', 'regex', 'exists', 'all', 'any', 'not'],
    read(text) {
      const value = jsonOf(text);
      const filters = compileFilters(Array.isArray(value) ? value : [objectOf(text)]);
      const view = { payload, event: 'push', headers: {}, list: () => undefined };
      return filters.ok ? filters.value.match(view) : filters.problems;
    },
  },
  {
    name: 'FIL-4 · patterns and the text that they search',
    parts: ['(', ')', '[a-z]', '{1,9}', '*', '+?', '|', '\\p{L}', '(?i)', '^', '$', '(?:', '.*', 'a{', '\\b'],
    read(text) {
      const filters = compileFilters([
        {
          any: [
            { field: 'text', regex: text },
            { field: 'text', regex: '(a*)*b' },
          ],
        },
      ]);
      const view = { payload: { text }, event: '', headers: {}, list: () => undefined };
      return filters.ok ? filters.value.match(view) : filters.problems;
    },
  },
  {
    name: 'SCR-2 · output of scripts',
    parts: [...jsonParts, '[SILENT]', 'words'],
    fields: ['a', 'text'],
    read: (stdout) => readScriptOutcome({ kind: 'exited', code: 0, stdout }, payload),
  },
  {
    name: 'CRN-1 · schedules and durations',
    parts: ['*', '/', '-', ',', '5', '60', 'every ', '15m', '1h30m', 'mon', 'L', '@daily', ' ', '#', '0'],
    frames: [(inner) => `every ${inner}`, (inner) => `${inner} * * * *`, (inner) => `0 0 ${inner} * *`],
    read: readSchedule,
  },
  {
    name: 'CRN-1 · the file of jobs',
    parts: jsonParts,
    fields: [
      'jobs',
      'id',
      'name',
      'prompt',
      'schedule',
      'timezone',
      'skills',
      'deliver_extra',
      'grace_seconds',
      'created_at',
    ],
    read(text) {
      const read = readJobs(text);
      const timings = read.kind === 'read' ? read.jobs.map((job) => timingOf(job, () => true)) : [];
      return [read, timings, putJob(text, { id: 'a' })];
    },
  },
  {
    name: 'CFG-2 · config.yaml',
    isOwn: true,
    parts: [
      'a: ',
      '- ',
      '? ',
      '&a ',
      '*a ',
      '!!str ',
      '!x ',
      '|\n',
      '>-\n',
      '\n',
      '\n  ',
      '{',
      '[',
      '"',
      '# ',
      '---\n',
      '...\n',
      '<<: ',
    ],
    fields: [...settings, ...serverKeys.slice(0, 12), ...routeKeys.slice(0, 12)],
    frames: [
      (inner) => `mcp_servers:\n  a:\n    command: ${inner}`,
      (inner) => `mcp_servers: {a: {url: ${inner}}}`,
      (inner) => `platforms:\n  webhook:\n    extra:\n      routes:\n        r:\n          prompt: ${quoted(inner)}`,
      (inner) => `platforms: {webhook: {extra: {routes: {r: {filters: ${inner}}}}}}`,
      (inner) => `agent: {model: {base_url: ${quoted(inner)}}}`,
    ],
    read: yaml,
  },
  {
    name: 'SUB-2 · the file of subscriptions',
    parts: jsonParts,
    fields: [
      'good',
      'secret',
      'events',
      'prompt',
      'filters',
      'deliver',
      'deliver_extra',
      'coalesce',
      'skills',
      'created_at',
    ],
    frames: [
      (inner) => `{"good": {"secret": ${quoted(inner)}, "prompt": ${quoted(inner)}}}`,
      (inner) => `{"good": {"secret": "long-enough-secret", "deliver_extra": ${inner}}}`,
      (inner) => `{"good": {"secret": "long-enough-secret", "filters": [${inner}]}}`,
    ],
    read(text) {
      const context = { profile: defaultProfile, host: '0.0.0.0', checkFilters };
      const read = readSubscriptions(text, context);
      return [read, read.ok ? editSubscriptions(text, 'x', {}) : undefined];
    },
  },
  {
    name: 'HOME-2 · .env',
    parts: ['A=', 'export ', "'", '"', '\\n', '\n', '#', ' # ', '=', '${A}', '__proto__='],
    frames: [(inner) => `A="${inner}`, (inner) => `A='${inner}'`, (inner) => `A=${inner}\nB=1`],
    read: parseEnvFile,
  },
  {
    name: 'INT-1 · references',
    parts: ['${', '}', '${A}', '${env:A}', '${userHome}', '${/}', '$', '{', '${__proto__}'],
    read: (text) => [interpolate([text, { [text]: text }], scope), variablesIn([text])],
  },
  {
    name: 'LNK-1 · add-server links',
    parts: ['agent://mcp/install?', 'name=', '&', 'config=', 'eyJ1cmwiOiJodHRwczovL2EifQ', '%', '+', '==', '_-'],
    frames: [
      (inner) => `agent://mcp/install?name=${encodeURIComponent(inner.toWellFormed())}&config=e30`,
      (inner) => `agent://mcp/install?name=a&config=${Buffer.from(inner).toString('base64url')}`,
      (inner) =>
        `agent://mcp/install?name=a&config=${Buffer.from(`{"url":"https://a","headers":${inner}}`).toString('base64url')}`,
    ],
    read: readInstallLink,
  },
  {
    name: 'INS-2 · the hash of the page',
    parts: ['#/', 'events', '/', '?', 'a=b', '&', '%', '%E2%82', '__proto__=x'],
    read: readHash,
  },
  {
    name: 'CLI-3 · lines of the control socket',
    parts: jsonParts,
    fields: ['jsonrpc', 'id', 'method', 'params', 'result', 'error'],
    frames: [
      (inner) => `{"jsonrpc":"2.0","id":${inner},"method":"x"}`,
      (inner) => `{"jsonrpc":"2.0","id":1,"method":"x","params":${inner}}`,
    ],
    read: readMessage,
  },
  {
    name: 'DIS-3 · events of a model’s stream',
    parts: ['data: ', 'event: ', '\n', '\r', '\n\n', ':', 'data', '[DONE]', '{"choices":[{"delta":', '}]}'],
    fields: [
      'type',
      'choices',
      'delta',
      'content',
      'tool_calls',
      'function',
      'arguments',
      'index',
      'usage',
      'error',
      'content_block',
      'finish_reason',
    ],
    frames: [(inner) => `data: ${inner}\n\n`, (inner) => `event: ${inner}\ndata: x\n\n`],
    read(text) {
      const reader = createEventReader();
      const events = [...reader.read(text), ...reader.read('\n\n')];
      return (['openai-compatible', 'anthropic'] as const).map((provider) => {
        const draft = emptyDraft();
        for (const data of [text, ...events]) readEvent(provider, draft, data);
        const whole = emptyDraft();
        readWhole(provider, whole, jsonOf(text));
        return [answerOf(draft), whole];
      });
    },
  },
  {
    name: 'LIF-13 · results of tools',
    parts: jsonParts,
    fields: [
      'content',
      'type',
      'text',
      'data',
      'mimeType',
      'resource',
      'uri',
      'blob',
      'structuredContent',
      'isError',
      '_meta',
      'annotations',
    ],
    frames: [(inner) => `{"content":[{"type":"text","text":${quoted(inner)}}],"isError":true}`],
    read: (text) => shapeResult(jsonOf(text), 2_000_000),
  },
  {
    name: 'NAM-2 · definitions of tools',
    parts: jsonParts,
    fields: [
      'name',
      'title',
      'description',
      'inputSchema',
      'outputSchema',
      'annotations',
      'icons',
      '_meta',
      'properties',
      '$ref',
    ],
    read: ofObject((tool) => [
      cleanTool(tool),
      mergeNames(
        [Object.keys(tool), [typeof tool.name === 'string' ? tool.name : '']].map((natives) =>
          namesOfServer({ server: 'a', natives, utilities: [] }),
        ),
      ),
    ]),
  },
  {
    name: 'SRV-1 · forms and requests for a model',
    parts: jsonParts,
    fields: [
      'message',
      'mode',
      'requestedSchema',
      'properties',
      'required',
      'type',
      'enum',
      'format',
      'messages',
      'content',
      'maxTokens',
      'modelPreferences',
      'hints',
    ],
    read: ofObject((request) => {
      const policy = {
        enabled: true,
        allowedModels: [],
        maxTokensCap: 1,
        timeoutMs: 1,
        maxRequestsPerMinute: 1,
        maxToolRounds: 1,
      };
      return [
        admitElicitation({ enabled: true, timeoutMs: 1 }, request, { waiting: 0, unfilled: 0 }),
        admitSampling(policy, request, [], nowMs),
        checkElicitationValues(request.requestedSchema ?? null, request),
      ];
    }),
  },
  {
    name: 'LIF-6 · the cache of schemas',
    parts: jsonParts,
    fields: [
      'format',
      'fingerprint',
      'tools',
      'capabilities',
      'savedAtMs',
      'ttlMs',
      'era',
      'instructions',
      'name',
      'inputSchema',
    ],
    frames: [(inner) => `{"format":1,"fingerprint":"x","savedAtMs":1,"tools":${inner}}`],
    read: (text) => readCache(text, 'x', nowMs),
  },
  {
    name: 'FLT-1 · globs and URI templates',
    parts: ['*', '?', '[a-z]', '[!', ']', '\\', 'a', '{+a}', '{/a*}', '{', '}', '{?a,b}', '/'],
    read: (text) => [
      matchesGlob(text)('a'.repeat(100)),
      matchesGlob('*a*b*[!c]?')(text),
      templateMatcher('https://a/b/c?d=e')(text),
      templateMatcher(text)('{+a}/{b}{/c}{?d}'),
    ],
  },
  {
    name: 'OAU-1 · redirects and pasted addresses',
    parts: ['state=s', '&', 'code=', 'iss=', 'error=', 'error_description=', '%', '+', 'http://127.0.0.1/?', '#'],
    frames: [
      (inner) => `state=s&error=${encodeURIComponent(inner.toWellFormed())}`,
      (inner) => `http://127.0.0.1/callback?${inner}`,
    ],
    read: (text) => [
      readRedirect(text, { state: 's', issuer: 'https://a', issPromised: false }),
      readRedirect(pastedQuery(text) ?? '', { state: 's', issuer: 'https://a', issPromised: true }),
    ],
  },
  {
    name: 'OAU-2 · records of tokens, answers with tokens and client documents',
    parts: jsonParts,
    fields: [
      'access_token',
      'refresh_token',
      'scope',
      'expires_in',
      'expires_at_ms',
      'issuer',
      'client_id',
      'url',
      'redirect_uris',
      'scopes_supported',
      'token_type',
    ],
    read: (text) => [
      readTokenRecord(text),
      recordOf(objectOf(text), { issuer: 'https://a', clientId: 'c', url: 'https://b' }, nowMs),
      checkDocument('https://a/c.json', { status: 200, contentType: text, body: jsonOf(text) }),
      chooseScope(undefined, objectOf(text), objectOf(text)),
    ],
  },
  {
    name: 'DLV-4 · waits that a platform asks for',
    parts: ['1', '0.5', 'Wed, 21 Oct 2015 07:28:00 GMT', 'Wed', ',', ' ', ':', '-', '999999999999', '.'],
    read: (text) => retryAfterMs({ header: text, seconds: text, milliseconds: Number(text) }, nowMs),
  },
  {
    name: 'CLI-5 · files of other programs in JSON',
    parts: [...jsonParts, '// x\n', '/*', '*/', ',]', ',}'],
    fields: [
      'mcpServers',
      'servers',
      'mcp',
      'projects',
      '/home/me/p',
      'command',
      'args',
      'env',
      'url',
      'headers',
      'inputs',
      'id',
      'disabled',
    ],
    frames: [
      (inner) => `{"mcpServers":{"a":{"command":"x","env":{"A":${inner}}}}}`,
      (inner) =>
        `{"mcpServers":{"a":{"command":${quoted(inner)},"args":[${quoted(inner)}],"env":{"A":${quoted(inner)}}}}}`,
    ],
    read(text) {
      const read = parseJsonc(text);
      if (read.kind !== 'read') return read;
      return (['claude-code', 'claude-desktop', 'cursor', 'vscode'] as const).map((program) =>
        importOf(program, read.value),
      );
    },
  },
  {
    name: 'CLI-5 · files of other programs in TOML',
    parts: [
      'a = ',
      '[a]\n',
      '[[a]]\n',
      '"""',
      "'''",
      '"',
      '1979-05-27T07:32:00Z',
      '0x',
      '{ a = ',
      '[',
      ',',
      '\n',
      '# ',
      'a.b.',
    ],
    frames: [
      (inner) => `[mcp_servers.a]\ncommand = ${inner}`,
      (inner) => `[mcp_servers.${inner}]\ncommand = "x"`,
      (inner) => `a = """${inner}`,
    ],
    read(text) {
      const read = parseToml(text);
      return read.kind === 'read' ? importOf('codex', read.value) : read;
    },
  },
  {
    name: 'DIS-6 · front matter of skills',
    parts: ['---\n', '---', 'name: ', 'description: ', '\n', '\r\n', '"', "'", ':', '- '],
    frames: [(inner) => `---\n${inner}\n---\ntext`, (inner) => `---\nname: ${inner}\n---\n`],
    read: (text) => readSkill('folder', text),
  },
  {
    name: 'DIS-5 · pages of the web',
    parts: [
      '<',
      '>',
      '</',
      '<script>',
      '</script>',
      '<!--',
      '-->',
      '&amp;',
      '&#x',
      '&',
      '<p a="',
      '<title>',
      '<svg>',
      '="',
    ],
    read: readableText,
  },
  { name: 'OBS-1 · trace headers', parts: ['00-', 'a'.repeat(32), '-', '01', 'f'.repeat(16)], read: readTraceparent },
];

for (const parser of parsers) checkParser(t, parser);
