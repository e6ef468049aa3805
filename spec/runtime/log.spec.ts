import { closeSync, openSync, readFileSync } from 'node:fs';
import fc from 'fast-check';
import t from 'tap';
import { createIds, timeKey } from '../../runtime/ids.ts';
import { createLog } from '../../runtime/log.ts';
import { createRedactor } from '../../runtime/redact.ts';
import { makeHome } from '../support/home.ts';

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
        ? /^\d\d:\d\d:\d\d info {2}hello delivery_id=d1/
        : /^\{"time":".*","level":"info","message":"hello","delivery_id":"d1"/,
    );
    t.notMatch(lines.join('\n'), /very-secret-value|abcdefghijkl|\p{Cc}\[/u);
    if (!isTerminal) for (const line of lines) t.ok(JSON.parse(line));
  }
  t.end();
});

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
