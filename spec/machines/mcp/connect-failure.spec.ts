import t from 'tap';
import { normaliseServerEntry } from '../../../machines/config/server-entry.ts';
import {
  afterFailures,
  type ConnectFailure,
  describeFailure,
  isPermanent,
  isSessionExpiry,
  shownFailure,
} from '../../../machines/mcp/connect-failure.ts';
import { readServerSettings } from '../../../machines/mcp/server-settings.ts';
import { fc } from '../../support/property.ts';

const rpc = (code: number): ConnectFailure => ({ kind: 'rpc', code, message: 'no' });
const http = (status: number, message = ''): ConnectFailure => ({ kind: 'http', status, message });
const spawn = (code: string): ConnectFailure => ({ kind: 'spawn', code, command: 'npx' });

const permanent: readonly ConnectFailure[] = [
  ...[401, 403, 404, 405, 406, 410, 415, 501].map((status) => http(status)),
  ...[-32601, -32022, -32021, -32020].map(rpc),
  ...['ENOENT', 'EACCES', 'ENOTDIR'].map(spawn),
  { kind: 'http', status: 400, message: '', rpcCode: -32022 },
  { kind: 'notMcp', contentType: 'text/html' },
  { kind: 'malformed', message: 'no list' },
  { kind: 'oversized', message: 'a long page' },
  { kind: 'ownTools', isDirect: true },
  { kind: 'revision', offered: '1999-01-01' },
  { kind: 'notStateless' },
  { kind: 'tlsFile', key: 'client_cert', path: '~/a.pem', resolved: '/home/u/a.pem' },
];
const passing: readonly ConnectFailure[] = [
  ...[400, 408, 429, 500, 502, 503].map((status) => http(status)),
  ...[-32600, -32603, -32000].map(rpc),
  ...['EAGAIN', 'EMFILE', 'ENOMEM'].map(spawn),
  { kind: 'http', status: 500, message: '', rpcCode: -32601 },
  { kind: 'http', status: 503, message: '', rpcCode: -32601 },
  { kind: 'http', status: 404, message: 'Session not found', sessionGone: true },
  { kind: 'http', status: 401, message: 'Session not found', sessionGone: true },
  { kind: 'timeout', afterMs: 60_000 },
  { kind: 'network', message: 'ECONNREFUSED' },
  { kind: 'exited', status: 1 },
  { kind: 'ownTools', isDirect: false },
  { kind: 'tls', message: 'CERT_HAS_EXPIRED' },
];

const here = { profile: 'default', hasLog: true };

t.test('LIF-7 · a permanent error burns no retries, a passing one is tried again', (t) => {
  for (const failure of permanent) {
    t.ok(isPermanent(failure), JSON.stringify(failure));
    t.equal(afterFailures([failure], false), 'failed', JSON.stringify(failure));
  }
  for (const failure of passing) {
    t.notOk(isPermanent(failure), JSON.stringify(failure));
    t.equal(afterFailures([failure], true), 'retry', JSON.stringify(failure));
  }
  t.end();
});

t.test('LIF-7 · 401 and a lacking scope need a login where OAuth is asked for, and nowhere else', (t) => {
  const rows: readonly (readonly [readonly ConnectFailure[], boolean, string])[] = [
    [[http(401)], true, 'needsLogin'],
    [[http(401)], false, 'failed'],
    [[http(403)], true, 'failed'],
    [[{ ...http(403), scope: 'a' } as ConnectFailure], true, 'needsLogin'],
    [[{ ...http(403), scope: '' } as ConnectFailure], true, 'needsLogin'],
    [[{ ...http(403), scope: 'a' } as ConnectFailure], false, 'failed'],
    [[http(400), http(401)], true, 'needsLogin'],
    [[http(400), http(401)], false, 'failed'],
  ];
  for (const [failures, oauth, expected] of rows)
    t.equal(afterFailures(failures, oauth), expected, JSON.stringify([failures, oauth]));
  t.end();
});

t.test('LIF-7 · of two attempts both must be beyond help', (t) => {
  t.equal(afterFailures([http(404), http(404)], false), 'failed');
  t.equal(afterFailures([http(404), { kind: 'timeout', afterMs: 1 }], false), 'retry');
  t.equal(afterFailures([http(400), rpc(-32601)], false), 'retry', 'a legacy server may only be busy');
  t.equal(afterFailures([], false), 'retry');
  t.end();
});

t.test('TRU-2 · a session that was in use has run out at 404, and at some others with words about it', (t) => {
  const rows: readonly (readonly [number, string, boolean, boolean])[] = [
    [404, '', true, true],
    [404, 'Session not found', true, true],
    [404, 'Session not found', false, false],
    [400, 'Bad Request: No valid session ID provided', true, true],
    [400, 'Bad Request: Server not initialized', true, true],
    [400, 'MISSING SESSION', true, true],
    [400, 'No valid session ID provided', false, false],
    [400, 'Invalid params', true, false],
    [500, 'session store is down', true, false],
    [401, 'session expired', true, false],
    [401, 'Unauthorized: Session not found', true, true],
    [401, 'Unauthorized: No valid session ID provided', true, true],
    [401, 'Unauthorized: Session not found', false, false],
    [403, 'Session not found', true, false],
    [503, 'No active SSE connection for session 1f0c', true, true],
    [503, 'No active SSE connection for session 1f0c', false, false],
    [503, 'the session store is down', true, false],
  ];
  for (const [status, message, had, expected] of rows)
    t.equal(isSessionExpiry({ status, message }, had), expected, `${status} ${message} ${had}`);
  t.end();
});

t.test('LIF-7 · the one line says what went wrong and how to fix it', (t) => {
  const rows: readonly (readonly [readonly ConnectFailure[], string])[] = [
    [[http(401, 'Unauthorized')], 'answered HTTP 401: Unauthorized; check headers'],
    [
      [{ kind: 'http', status: 401, message: '', namesOauth: true }],
      'answered HTTP 401; it logs in by OAuth: set auth: oauth in its entry, then run `agent mcp login hub`',
    ],
    [[http(404)], 'answered HTTP 404; check url and transport'],
    [
      [{ kind: 'http', status: 404, message: 'Session not found', sessionGone: true }],
      'does not know the session that it has just opened: HTTP 404: Session not found; ask its operator whether all its instances have the same sessions',
    ],
    [[http(503, 'busy')], 'answered HTTP 503: busy; ask the operator of the server'],
    [[{ kind: 'http', status: 400, message: 'x', rpcCode: -32022 }], 'answered HTTP 400: x; check protocol'],
    [
      [http(400, 'no key'), { kind: 'notStateless' }],
      'answered HTTP 400: no key; then does not offer revision 2026-07-28 of the protocol; ask the operator of the server, or check protocol',
    ],
    [[rpc(-32601)], 'answered with the error -32601: no; check protocol'],
    [[rpc(-32603)], 'answered with the error -32603: no; read `agent mcp logs hub`'],
    [
      [{ kind: 'notMcp', contentType: 'text/html' }],
      'is not an MCP endpoint: it answers text/html; check url, or set skip_preflight: true',
    ],
    [[{ kind: 'timeout', afterMs: 60_000 }], 'no answer in 60 s; raise connect_timeout'],
    [
      [{ kind: 'timeout', afterMs: 60_000, words: 'open http://x to log in' }],
      'no answer in 60 s; it said: open http://x to log in; read `agent mcp logs hub`, or raise connect_timeout',
    ],
    [[{ kind: 'network', message: 'ECONNREFUSED' }], 'cannot be reached: ECONNREFUSED; check url and the network'],
    [
      [{ kind: 'otherGateway', message: 'gateway "g", which has it, gives no answer' }],
      'gateway "g", which has it, gives no answer; see `agent gateway nodes`',
    ],
    [
      [{ kind: 'malformed', message: 'its list is none' }],
      'does not keep to the protocol: its list is none; report it to its author, or run another version of it',
    ],
    [
      [{ kind: 'revision', offered: '1999-01-01' }],
      'offers revision 1999-01-01 of the protocol, which is not spoken here; run a newer version of the server',
    ],
    [
      [{ kind: 'revision', offered: '2099-01-01' }],
      'offers revision 2099-01-01 of the protocol, which is not spoken here; run an older version of the server, or upgrade this program',
    ],
    [[spawn('EAGAIN')], 'command cannot be started: npx (EAGAIN); the system lacks descriptors, processes or memory'],
    [[spawn('EACCES')], 'command cannot be started: npx (EACCES); make the file of command executable'],
    [
      [spawn('ENOENT')],
      'command cannot be started: npx (ENOENT); install it, or write its full path, since PATH may differ from that of your shell',
    ],
    [
      [{ kind: 'spawn', code: 'ENOENT', command: '/opt/venv/bin/x' }],
      'command cannot be started: /opt/venv/bin/x (ENOENT); install it, or correct its path, and see that the program in its first line exists if it is a script',
    ],
    [
      [{ kind: 'spawn', code: 'ENOENT', command: './build/x' }],
      'command cannot be started: ./build/x (ENOENT); write its full path: a relative one begins in its cwd, by default the workspace or the home',
    ],
    [
      [{ kind: 'spawn', code: 'ENOENT', command: 'npx -y x' }],
      'command cannot be started: npx -y x (ENOENT); command is the program alone: move its arguments into args',
    ],
    [
      [{ kind: 'exited', status: 'SIGSEGV' }],
      'command ended before it answered, with SIGSEGV; read `agent mcp logs hub`',
    ],
    [
      [{ kind: 'tls', message: 'certificate has expired (CERT_HAS_EXPIRED)' }],
      'TLS handshake failed: certificate has expired (CERT_HAS_EXPIRED); ask its operator to renew it, or check the clock of this machine',
    ],
    [
      [{ kind: 'tls', message: 'no TLS (ERR_SSL_WRONG_VERSION_NUMBER)' }],
      'TLS handshake failed: no TLS (ERR_SSL_WRONG_VERSION_NUMBER); correct the port in url, or write http:// if the server has no TLS',
    ],
    [[{ kind: 'tls', message: 'expired' }], 'TLS handshake failed: expired; check ssl_verify and client_cert'],
    [
      [{ kind: 'tlsFile', key: 'client_cert', path: '~/gh.pem', resolved: '/home/u/gh.pem' }],
      'client_cert file not found: ~/gh.pem (resolved /home/u/gh.pem); check client_cert [tls-file-missing]',
    ],
    [
      [{ kind: 'setting', message: 'mcp server "hub": header "A" is none; check headers [header-invalid]' }],
      'header "A" is none; check headers [header-invalid]',
    ],
  ];
  for (const [failures, expected] of rows)
    t.equal(describeFailure('hub', failures, here), `mcp server "hub": ${expected}`);
  t.end();
});

t.test('LIF-7 · where npx installs or has left half a package, the line names the cure', (t) => {
  const cut = (folder: string) =>
    `its install by npx is incomplete, as after connect_timeout: remove the folder ${folder} and raise connect_timeout`;
  const logs = 'read `agent mcp logs hub`';
  for (const [words, cure] of [
    [
      "throw err;\nError: Cannot find module '/root/.npm/_npx/a1b2/node_modules/x/y.js'. Please",
      cut('/root/.npm/_npx/a1b2'),
    ],
    ["Cannot find module 'x'\nRequire stack:\n- /h/_npx/0f/node_modules/z/index.js", cut('/h/_npx/0f')],
    ["Cannot find package 'zod' imported from file:///h/u/_npx/0f/node_modules/z/i.js", cut('/h/u/_npx/0f')],
    ["Cannot find module '[redacted]/_npx/0f/node_modules/z/i.js'", cut('[redacted]/_npx/0f')],
    ["Cannot find module '/srv/x.js'\nRequire stack:\n- /h/_npx/0f/node_modules/tsx/i.js", logs],
    ['started from /h/_npx/0f/node_modules/z/i.js: no key', logs],
  ] as const)
    t.ok(describeFailure('hub', [{ kind: 'exited', status: 1, words }], here).endsWith(`; ${cure}`), words);

  const started = (command: string, words?: string) => {
    const transport = { kind: 'stdio', command, args: [], env: {} } as const;
    const failure = { kind: 'timeout', afterMs: 60_000, ...(words === undefined ? {} : { words }) } as const;
    return describeFailure('hub', [failure], { ...here, transport }).replace(
      'mcp server "hub": no answer in 60 s; ',
      '',
    );
  };
  const installs =
    'raise connect_timeout: a first start also installs the package, and each start asks the registry for it';
  for (const runner of ['npx', '/usr/bin/npx', 'uvx', 'bunx']) t.equal(started(runner), installs, runner);
  t.equal(started('node'), 'raise connect_timeout');
  t.equal(started('npx', 'ready'), `it said: ready; ${logs}, or raise connect_timeout`);
  t.end();
});

t.test('ERA-1 · two failures are reported in the order of the attempts', (t) => {
  t.equal(
    describeFailure('hub', [http(400, 'no'), { kind: 'timeout', afterMs: 500 }], here),
    'mcp server "hub": answered HTTP 400: no; then no answer in 0.5 s; ask the operator of the server, or raise connect_timeout',
  );
  t.equal(
    describeFailure('hub', [http(404), http(404)], here),
    'mcp server "hub": answered HTTP 404; then answered HTTP 404; check url and transport',
  );
  t.end();
});

t.test('LIF-13 · the words of a server are one line, bounded, and hold no secret', (t) => {
  const line = describeFailure('hub', [http(500, `a\r\nb \u001b[31m Bearer abc.def ${'x'.repeat(10_000)}`)], here);

  t.match(line, 'answered HTTP 500: a b Bearer [redacted]');
  t.ok(line.length < 450, String(line.length));
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (message) => {
      const text = describeFailure('hub', [http(500, message)], here);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not come through.
      return !/[\u0000-\u001f\u007f\u{E0000}-\u{E007F}]/u.test(text);
    }),
  );
  t.end();
});

t.test('LIF-7 · the cure names the profile, and no log where nothing is kept', (t) => {
  const exited: ConnectFailure = { kind: 'exited', status: 1 };
  const own: ConnectFailure = { kind: 'ownTools', isDirect: true };
  const redirect: ConnectFailure = { kind: 'redirect', message: 'it is not followed; put that address in url' };
  const { transport: login } = readServerSettings(
    normaliseServerEntry('hub', { url: 'https://hub.example/mcp', auth: 'oauth' }),
  );
  const rows = [
    [exited, { profile: 'default', hasLog: true }, 'read `agent mcp logs hub`'],
    [exited, { profile: 'work', hasLog: true }, 'read `agent mcp logs hub --profile work`'],
    [exited, { profile: 'work', hasLog: false }, 'try its command in a terminal'],
    [own, { profile: 'work', hasLog: true }, 'remove it by `agent mcp remove hub --profile work`'],
    [own, { profile: 'work', hasLog: false }, 'the gateway has these tools already and needs no such entry'],
    [
      http(403),
      { profile: 'work', hasLog: true, transport: login },
      'check headers, or run `agent mcp login hub --profile work`',
    ],
    [redirect, { profile: 'work', hasLog: true }, 'put that address in url'],
    [
      redirect,
      { profile: 'work', hasLog: true, transport: login },
      'put that address in url; run `agent mcp login hub --profile work` if that is a page of logins',
    ],
  ] as const;
  for (const [failure, place, cure] of rows) t.ok(describeFailure('hub', [failure], place).endsWith(cure), cure);
  t.end();
});

t.test('ERA-3 · skip_preflight is advised only for what the preflight refuses', (t) => {
  for (const [contentType, entry, cure] of [
    ['text/html; charset=utf-8', {}, 'check url, or set skip_preflight: true'],
    ['text/html', { skip_preflight: true }, 'check url'],
    ['text/plain', {}, 'check url'],
  ] as const) {
    const { transport } = readServerSettings(normaliseServerEntry('hub', { url: 'https://hub.example', ...entry }));
    const line = describeFailure('hub', [{ kind: 'notMcp', contentType }], { ...here, transport });
    t.ok(line.endsWith(`; ${cure}`), line);
  }
  t.end();
});

t.test('TLS-1 · a connection that a TLS server closes names client_cert, unless the entry has one', (t) => {
  const closed: ConnectFailure = { kind: 'network', message: 'other side closed' };
  const cert = { client_cert: '~/a.pem' };
  const rows = [
    [closed, { url: 'https://hub.example/mcp' }, true],
    [{ kind: 'network', message: 'SSE error: fetch failed: other side closed' }, { url: 'HTTPS://hub.example' }, true],
    [closed, { url: 'https://hub.example/mcp', ...cert }, false],
    [closed, { url: 'http://hub.example/mcp' }, false],
    [{ kind: 'network', message: 'ECONNREFUSED' }, { url: 'https://hub.example/mcp' }, false],
  ] as const;
  for (const [failure, entry, named] of rows) {
    const { transport } = readServerSettings(normaliseServerEntry('hub', entry));
    t.equal(describeFailure('hub', [failure], { ...here, transport }).includes('client_cert'), named, entry.url);
  }
  t.end();
});

t.test('ERA-3 · where the old SSE transport finds none of its streams, the other transport is named', (t) => {
  const rows = [
    [http(400), 'sse', true],
    [http(405), 'sse', true],
    [{ kind: 'timeout', afterMs: 60_000 }, 'sse', true],
    [http(429), 'sse', false],
    [http(503), 'sse', false],
    [http(401), 'sse', false],
    [{ kind: 'notMcp', contentType: 'a type other than text/event-stream' }, 'sse', true],
    [http(400), undefined, false],
    [{ kind: 'timeout', afterMs: 60_000 }, undefined, false],
  ] as const;
  for (const [failure, kind, named] of rows) {
    const entry = { url: 'https://hub.example/mcp', ...(kind === undefined ? {} : { transport: kind }) };
    const { transport } = readServerSettings(normaliseServerEntry('hub', entry));
    const line = describeFailure('hub', [failure], { ...here, transport });
    t.equal(/remove transport: sse if it speaks Streamable HTTP$/.test(line), named, line);
    t.equal(line.includes('whether a proxy buffers its stream'), named && failure.kind === 'timeout', line);
  }
  const { transport } = readServerSettings(
    normaliseServerEntry('hub', { url: 'https://hub.example/sse', transport: 'sse' }),
  );
  const gone = { kind: 'http', status: 404, message: 'Not Found', sessionGone: true } as const;
  t.match(
    describeFailure('hub', [gone], { ...here, transport }),
    /whether a proxy changes the path that it names for mes/,
  );
  t.end();
});

t.test('ERA-3 · a POST refused at an url of the old SSE transport names that transport', (t) => {
  const rows = [
    [405, { url: 'https://hub.example/sse' }, true],
    [404, { url: 'https://hub.example/v1/sse/?key=a' }, true],
    [405, { url: 'https://hub.example/sse', transport: 'sse' }, false],
    [405, { url: 'https://hub.example/mcp' }, false],
    [503, { url: 'https://hub.example/sse' }, false],
  ] as const;
  for (const [status, entry, named] of rows) {
    const { transport } = readServerSettings(normaliseServerEntry('hub', entry));
    const line = describeFailure('hub', [http(status)], { ...here, transport });
    t.equal(line.endsWith('set transport: sse (`--transport sse`)'), named, `${status} ${entry.url}`);
  }
  t.end();
});

t.test('OAU-2 · LIF-7 · a disk that takes no token is no trouble of the network, and may pass', (t) => {
  const failure = {
    kind: 'token',
    message: 'mcp server "hub": mcp server "hub": it cannot be written; free some room',
  } as const;
  t.notOk(isPermanent(failure));
  t.equal(
    describeFailure('hub', [failure], { profile: 'default', hasLog: true }),
    'mcp server "hub": it cannot be written; free some room',
  );
  t.end();
});

t.test('INS-4 · LIF-1 · readers with buttons get a sentence without name and commands, and the numbers in it', (t) => {
  const rows = [
    [
      'answered HTTP 503: busy; read `agent mcp logs hub`',
      { why: 'The server answered HTTP 503: busy', http_status: 503 },
    ],
    ['needs a login; run `agent mcp login hub`', { why: 'The server needs a login' }],
    [
      'answered HTTP 401; check headers, or run `agent mcp login hub`',
      { why: 'The server answered HTTP 401; check headers', http_status: 401 },
    ],
    ['command ended: it exited with code 4', { why: 'The command ended: it exited with code 4', exit_code: 4 }],
    ['TLS handshake failed', { why: 'TLS handshake failed' }],
    // What the server says of others is no number of its own.
    [
      'command ended: it exited with code 4; it said: the API answered HTTP 401',
      { why: 'The command ended: it exited with code 4; it said: the API answered HTTP 401', exit_code: 4 },
    ],
    [
      'answered with the error -32000: child exited with code 9',
      { why: 'The server answered with the error -32000: child exited with code 9' },
    ],
    [
      'its redirect to https://a.example/x, where no credentials and no session go, is answered HTTP 403: no',
      {
        why: 'its redirect to https://a.example/x, where no credentials and no session go, is answered HTTP 403: no',
        http_status: 403,
      },
    ],
    [
      'its redirect to https://a.example/x, where no credentials and no session go, is answered HTTP 403: a is answered HTTP 500',
      {
        why: 'its redirect to https://a.example/x, where no credentials and no session go, is answered HTTP 403: a is answered HTTP 500',
        http_status: 403,
      },
    ],
    [
      'answered with the error -32601: no; then answered HTTP 400: bad',
      { why: 'The server answered with the error -32601: no; then answered HTTP 400: bad', http_status: 400 },
    ],
    [
      'does not know the session that it has just opened: HTTP 404: gone',
      { why: 'The server does not know the session that it has just opened: HTTP 404: gone', http_status: 404 },
    ],
  ] as const;
  for (const [words, shown] of rows) t.same(shownFailure('hub', `mcp server "hub": ${words}`), shown);
  t.end();
});
