import { spawn, spawnSync } from 'node:child_process';
import {
  closeSync,
  constants,
  existsSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import t, { type Test } from 'tap';
import { createLog, type Log } from '../../../runtime/observe/log.ts';
import { createRedactor } from '../../../runtime/observe/redact.ts';
import { createIds, timeKey } from '../../../runtime/system/ids.ts';
import { makeHome } from '../../support/home.ts';
import { collected, until } from '../../support/processes.ts';
import { fc } from '../../support/property.ts';
import { hasTerminal } from '../../support/terminal.ts';

t.test('OBS-1 · lines are JSON on a pipe, readable on a terminal, and hold no secret or forged line', (t) => {
  const home = makeHome(t);
  for (const isTerminal of [false, true]) {
    const path = `${home.path}/${isTerminal}.log`;
    const fd = openSync(path, 'w');
    const redactor = createRedactor();
    redactor.learn('very-secret-value');
    const log = createLog({ env: { NO_COLOR: '1' }, redactor, sink: { fd, isTerminal } });
    log.log('info', 'hello', { delivery_id: 'd1', key: 'very-secret-value', auth: 'Bearer abcdefghijkl' });
    log.log('debug', 'not shown');
    log.warnOnce('k', 'once\u001b[2J');
    log.warnOnce('k', 'once');
    log.flush();
    closeSync(fd);
    const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
    t.equal(lines.length, 2);
    t.match(
      lines[0],
      isTerminal
        ? /^\d\d:\d\d:\d\dZ info {2}hello delivery_id=d1/
        : /^\{"time":".*","level":"info","message":"hello","delivery_id":"d1"/,
    );
    t.notMatch(lines.join('\n'), /very-secret-value|abcdefghijkl|\p{Cc}\[/u);
    if (!isTerminal) for (const line of lines) t.ok(JSON.parse(line));
  }
  t.end();
});

t.test('OBS-1 · journald keeps the level of each line as its priority', (t) => {
  const path = `${makeHome(t).path}/stream`;
  const fd = openSync(path, 'w');
  const { dev, ino } = statSync(path);
  for (const stream of [`${dev}:${ino}`, `${dev}:${ino + 1}`]) {
    const env = { JOURNAL_STREAM: stream, AGENT_LOG_LEVEL: 'debug' };
    const log = createLog({ env, redactor: createRedactor(), sink: { fd, isTerminal: false } });
    for (const level of ['debug', 'info', 'warn', 'error'] as const) log.log(level, 'a\nb');
    log.flush();
  }
  closeSync(fd);
  const starts = readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => line.slice(0, line.indexOf('{')));
  t.strictSame(starts, ['<7>', '', '<4>', '<3>', '', '', '', '']);
  t.end();
});

t.test('OBS-1 · a log that is a file of the home is bounded while the gateway runs', (t) => {
  const path = `${makeHome(t, { 'gateway.log': 'old\n'.repeat(4_500_000) }).path}/gateway.log`;
  const fd = openSync(path, 'a');
  const log = createLog({ env: {}, redactor: createRedactor(), sink: { fd, isTerminal: false }, file: path });
  for (const message of ['first', 'second']) {
    log.log('info', message);
    log.flush();
  }
  closeSync(fd);
  t.match(readFileSync(path, 'utf8'), /^\{[^\n]*"second"\}\n$/);
  t.match(readFileSync(`${path}.1`, 'utf8').slice(-100), /old\n\{.*"first"\}\n$/);
  t.ok(statSync(`${path}.1`).size <= 16 * 1_048_576);
  t.end();
});

t.test('OBS-1 · a log that is a file of the home is made again where its folder was removed or it was moved', (t) => {
  const home = makeHome(t, { 'logs/gateway.log': '' });
  const path = `${home.path}/logs/gateway.log`;
  const fd = openSync(path, 'a');
  const log = createLog({ env: {}, redactor: createRedactor(), sink: { fd, isTerminal: false }, file: path });
  const say = (message: string): void => {
    log.log('info', message);
    log.flush();
  };
  say('first');
  rmSync(`${home.path}/logs`, { recursive: true });
  say('second');
  t.match(readFileSync(path, 'utf8'), /^\{[^\n]*"second"\}\n$/);
  t.equal(statSync(path).mode & 0o777, 0o600);
  renameSync(path, `${path}.1`);
  say('third');
  t.match(readFileSync(path, 'utf8'), /^\{[^\n]*"third"\}\n$/);
  renameSync(`${home.path}/logs`, `${home.path}/before`);
  writeFileSync(`${home.path}/logs`, '');
  t.doesNotThrow(() => say('unseen'), 'no line ends the gateway while the place of the file cannot even be looked at');
  rmSync(`${home.path}/logs`);
  say('again');
  t.match(readFileSync(path, 'utf8'), /^\{[^\n]*"again"\}\n$/);
  const elsewhere = openSync(`${home.path}/own.log`, 'a');
  const other = createLog({
    env: {},
    redactor: createRedactor(),
    sink: { fd: elsewhere, isTerminal: false },
    file: path,
  });
  other.log('info', 'fourth');
  other.flush();
  t.match(readFileSync(`${home.path}/own.log`, 'utf8'), /"fourth"/, 'a log that goes elsewhere stays there');
  for (const one of [fd, elsewhere]) closeSync(one);
  t.end();
});

const canMount = spawnSync('unshare', ['-m', 'true']).status === 0;

t.test(
  'OBS-1 · a line that a full disk cut off is not continued by the next one',
  canMount ? {} : { skip: 'needs `unshare -m`: run as root on Linux' },
  (t) => {
    const script = `
      import { openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
      const { createLog } = await import('${new URL('../../../runtime/observe/log.js', import.meta.url)}');
      writeFileSync('ballast', Buffer.alloc(4096));
      const redactor = { text: (text) => text, value: (value) => value };
      const log = createLog({ env: {}, redactor, sink: { fd: openSync('log', 'a'), isTerminal: false } });
      log.log('info', 'x'.repeat(5000));
      log.flush();
      rmSync('ballast');
      for (const message of ['whole', 'again']) {
        log.log('info', message);
        log.flush();
      }
      console.log(readFileSync('log', 'utf8').split('\\n').map((line) => line.slice(-20)).join('\\n'));`;
    const { stdout } = spawnSync(
      'unshare',
      ['-m', 'bash', '-ec', 'mount -t tmpfs -o size=8k none "$0"; cd "$0"; exec "$@"', makeHome(t).path].concat([
        process.execPath,
        '--input-type=module',
        '-e',
        script,
      ]),
      { encoding: 'utf8' },
    );
    t.match(stdout, /^x{20}\n[^\n]*disk is full"\}\n[^\n]*"message":"whole"\}\n[^\n]*"message":"again"\}\n\n$/);
    t.end();
  },
);

t.test('OBS-1 · no message and no field forges a line, an own field or a terminal’s state', (t) => {
  const circle: Record<string, unknown> = {};
  circle.circle = circle;
  for (const isTerminal of [false, true]) {
    const lines = logged(t, isTerminal, (log) => {
      log.log('info', 'one\n12:00:00 error forged\u009b2J\u202e', {
        'a\nb': 'x\r\u001b[2J \u0085y',
        plain: 'z\u2028\u061c\ufeff\u{e0041}',
      });
      log.log('info', 'two', { level: 'error', message: 'forged', time: 'never' });
      log.log('info', 'three', { circle, big: 10n, cause: new Error('boom'), none: undefined, call: () => {} });
      log.log('warn', 'four', { password: 'hunter2', note: 'apiKey="two words"' });
    });
    t.notMatch(lines.join('\n'), /(?!\n)\p{Cc}|[\u2028\u202e\u061c\ufeff\u{e0041}]/u, 'nothing that a terminal obeys');
    t.notMatch(lines.join('\n'), /hunter2|two words/);
    if (isTerminal) {
      t.equal(lines.filter((line) => /^\d\d:\d\d:\d\dZ (info|warn|error) /.test(line)).length, 4);
      t.match(
        lines.find((line) => line.includes('three')),
        /big=10 cause=boom/,
      );
    } else {
      const records = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
      t.same(
        records.map(({ level, message }) => [level, message]),
        [
          ['info', 'one\n12:00:00 error forged\u009b2J\u202e'],
          ['info', 'two'],
          ['info', 'three'],
          ['warn', 'four'],
        ],
      );
      t.match(records[1], { field_level: 'error', field_message: 'forged', field_time: 'never' });
      t.match(records[2], { big: '10', cause: 'boom' });
    }
  }
  t.end();
});

t.test('OBS-1 · the environment chooses the level, and a name that is none means info and a warning', (t) => {
  const shown = (level: string): number =>
    logged(
      t,
      false,
      (log) => {
        for (const one of ['debug', 'info', 'warn', 'error'] as const) log.log(one, one);
      },
      { AGENT_LOG_LEVEL: level },
    ).length;
  t.same(['debug', 'info', 'warn', 'error', 'loud', 'toString', ''].map(shown), [4, 3, 2, 1, 4, 4, 3]);
  t.end();
});

t.test('CON-2 · CLI-2 · only a terminal that can, without NO_COLOR, sees colours', (t) => {
  const coloured = (isTerminal: boolean, env: Record<string, string>): boolean =>
    logged(t, isTerminal, (log) => log.log('warn', 'x'), env)
      .join('')
      .includes('\u001b[33m');
  const rows: readonly (readonly [boolean, Record<string, string>, boolean])[] = [
    [true, {}, true],
    [true, { NO_COLOR: '' }, true],
    [true, { NO_COLOR: '1' }, false],
    [true, { TERM: 'dumb' }, false],
    [false, {}, false],
  ];
  for (const [isTerminal, env, expected] of rows) t.equal(coloured(isTerminal, env), expected, JSON.stringify(env));
  t.end();
});

t.test(
  'OBS-1 · a line is written by the end of the turn, a great many at once, and a closed pipe is harmless',
  async (t) => {
    const home = makeHome(t);
    const path = `${home.path}/turn.log`;
    const fd = openSync(path, 'w');
    const log = createLog({ env: {}, redactor: createRedactor(), sink: { fd, isTerminal: false } });
    log.log('info', 'waits');
    t.equal(readFileSync(path, 'utf8'), '', 'the hot path does not write');
    await new Promise((resolve) => setImmediate(resolve));
    t.match(readFileSync(path, 'utf8'), /waits/);
    for (let n = 0; n < 20; n += 1) log.log('info', 'y'.repeat(100_000));
    t.ok(readFileSync(path, 'utf8').length > 1_000_000, 'what waits is bounded');
    log.flush();
    closeSync(fd);
    log.log('info', 'nobody reads this');
    log.flush();
  },
);

t.test(
  'OBS-1 · a reader that stops reading does not stop the gateway: what it does not take is lost and counted',
  (t) => {
    const path = `${makeHome(t).path}/pipe`;
    spawnSync('mkfifo', [path]);
    const fd = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
    t.teardown(() => closeSync(fd));
    const log = createLog({ env: {}, redactor: createRedactor(), sink: { fd, isTerminal: false } });
    const read = () => {
      const piece = Buffer.alloc(1_048_576);
      return piece.toString('utf8', 0, readSync(fd, piece));
    };
    const taken = () => read().split('\n').slice(0, -1);
    let meanwhile = () => {};
    t.intercept(Atomics, 'wait', { value: () => meanwhile() });
    for (const message of ['x'.repeat(1_000_000), 'lost too']) {
      log.log('info', message);
      log.flush();
    }
    const [half = ''] = taken().concat('');
    log.log('info', 'whole');
    log.flush();
    const [torn, note = '', whole] = taken();
    t.equal(torn, '', 'half a line is not continued');
    t.match(JSON.parse(note).message, /^\d+ bytes of the log are lost: its reader took nothing/);
    t.ok(Number.parseInt(JSON.parse(note).message, 10) > 900_000, half);
    t.match(whole, /"message":"whole"/);

    log.log('info', 'x'.repeat(1_000_000));
    log.flush();
    read();
    let text = '';
    meanwhile = () => {
      text += read();
    };
    log.log('info', `${'y'.repeat(1_000_000)}!`);
    log.flush();
    t.ok((text + read()).includes('y!'), 'one that reads again has its time again for what the pipe cannot hold');
    t.end();
  },
);

t.test(
  'OBS-1 · Ctrl-S in the terminal of a gateway holds its log, and nothing else',
  { skip: !hasTerminal && 'this machine has no script that runs a command' },
  async (t) => {
    const cwd = makeHome(t).path;
    writeFileSync(
      `${cwd}/logs.mjs`,
      `import { writeFileSync } from 'node:fs';
      const { createLog } = await import('${new URL('../../../runtime/observe/log.js', import.meta.url)}');
      const log = createLog({ env: { NO_COLOR: '1' }, redactor: { text: (text) => text } });
      process.stdin.on('data', () => {
        log.log('info', 'held');
        log.flush();
        writeFileSync('goes-on', '');
      });
      log.log('info', 'up');`,
    );
    const child = spawn('script', ['-qec', `'${process.execPath}' logs.mjs`, '/dev/null'], { cwd });
    t.teardown(() => child.kill('SIGKILL'));
    const text = collected(child.stdout);
    await until(() => text().includes('up'));
    child.stdin.write('\u0013go\r');
    await until(() => existsSync(`${cwd}/goes-on`));
    t.notMatch(text(), /held/);
    child.stdin.write('\u0011go\r');
    await until(() => /lost[\s\S]*held/.test(text()));
  },
);

/** The lines that a log writes, without the last line's end. */
function logged(
  t: Test,
  isTerminal: boolean,
  write: (log: Log) => void,
  env: Readonly<Record<string, string>> = { NO_COLOR: '1' },
): string[] {
  const path = `${makeHome(t).path}/written.log`;
  const fd = openSync(path, 'w');
  const log = createLog({ env, redactor: createRedactor(), sink: { fd, isTerminal } });
  write(log);
  log.flush();
  closeSync(fd);
  return readFileSync(path, 'utf8').replace(/\n$/, '').split('\n');
}

t.test('OBS-1 · a planted secret never survives', (t) => {
  const planted = [
    'ghp_0123456789abcdefghijABCD',
    'sk-abcdefghijklmnopqrstuvwx',
    'xoxb-1234567890-abc',
    'whsec_MfKQ9r8GKYqrTwjU',
    'AKIAABCDEFGHIJKLMNOP',
    'glpat-abcdefghijklmnopqrst',
    'Bearer abcdefgh12345678',
    'https://user:pass@example.org',
    'access_token=abcdef123',
    '123456789:AAEhBOweik6ad9r_QXMENQjcrGbqCr4K-bc',
    'learnt secret 42',
  ];
  const redactor = createRedactor();
  redactor.learn('learnt secret 42');
  const around = fc.string({ unit: fc.constantFrom(...' ,"\'()\n') });
  fc.assert(
    fc.property(fc.constantFrom(...planted), around, around, (secret, before, after) => {
      const needle = secret.replace(/^(Bearer |https:\/\/|access_token=)/, '').replace(/@.*/, '');
      const shown = JSON.stringify(redactor.value({ deep: [{ text: `${before}${secret}${after}` }] }));
      return !shown.includes(needle);
    }),
  );
  t.same(redactor.value({ password: 'x', nested: { api_key: 1, ok: 'text' } }), {
    password: '[redacted]',
    nested: { api_key: '[redacted]', ok: 'text' },
  });
  t.equal(redactor.text('nothing to hide'), 'nothing to hide');
  t.end();
});

t.test('DUR-2 · keys rise with time, also when the clock steps back', (t) => {
  const next = createIds();
  const keys = [5_000, 5_000, 4_000, 9_000, 9_000].map(next);
  t.same([...keys].sort(), keys);
  t.equal(new Set(keys).size, 5);
  t.ok(timeKey(4_999) < (keys[0] ?? '') && (keys[0] ?? '') < timeKey(5_001));
  t.end();
});

t.test('OBS-1 · what was warned of is remembered within bounds, the newest longest', (t) => {
  const { path } = makeHome(t);
  const fd = openSync(`${path}/log`, 'w');
  const log = createLog({ env: {}, redactor: createRedactor(), sink: { fd, isTerminal: false } });
  const warnings = 10_000;
  for (let at = 0; at < warnings; at += 1) log.warnOnce(`key ${at}`, 'said');
  log.warnOnce(`key ${warnings - 1}`, 'again');
  log.warnOnce('key 0', 'again');
  log.flush();
  closeSync(fd);
  const lines = readFileSync(`${path}/log`, 'utf8').trimEnd().split('\n');
  t.equal(lines.length, warnings + 1, 'only what is long forgotten is said again');
  t.end();
});
